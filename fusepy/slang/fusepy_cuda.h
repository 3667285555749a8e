// The types and functions that Slang's CUDA code of a kernel uses, for NVRTC, which reads them for each kernel.
//
// Slang writes 9,000 lines before each kernel. Most of their time goes into operators, a function for each type and size of vectors;
// here an operator is one template. Names and meanings are Slang's. Beyond them there are abs, min, max, sign and shifts of all
// integers, choices of vectors of 64 bits, inverse hyperbolic functions of doubles, and log10 of doubles in their precision.
// Textures, surfaces, structured buffers, printf, and what users do with waves are left out: NVRTC refuses them, and the kernel is
// compiled behind Slang's lines.
#ifdef SLANG_CUDA_ENABLE_HALF
#define __CUDA_NO_HALF2_OPERATORS__  // its comparisons give one bool
#include <cuda_fp16.h>
#endif
#define FZ inline __device__

typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long long int64_t;
typedef long long longlong;
typedef unsigned char uint8_t;
typedef unsigned char uchar;
typedef unsigned short uint16_t;
typedef unsigned short ushort;
typedef unsigned int uint32_t;
typedef unsigned int uint;
typedef unsigned long long uint64_t;
typedef unsigned long long ulonglong;
typedef ptrdiff_t intptr_t;
typedef size_t uintptr_t;
#define SLANG_PRELUDE_ASSERT(x)
#define SLANG_INFINITY ((float)(1e+300 * 1e+300))
#define SLANG_OFFSET_OF(type, member) (size_t)((char*)&(((type*)0)->member) - (char*)0)

template<class T, size_t N>
struct FixedArray
{
    T m_data[N];
    __device__ T& operator[](size_t i) { return m_data[i]; }
    __device__ const T& operator[](size_t i) const { return m_data[i]; }
};

// ---- vectors: CUDA has all but those of bools, and those of halfs with one, three and four components

struct __align__(1) bool1 { bool x; };
struct __align__(2) bool2 { bool x, y; };
struct __align__(1) bool3 { bool x, y, z; };
struct __align__(4) bool4 { bool x, y, z, w; };
#ifdef SLANG_CUDA_ENABLE_HALF
typedef __half half;
struct __half1 { __half x; };
struct __align__(4) __half3 { __half x, y, z; };
struct __align__(4) __half4 { __half x, y, z, w; };
#endif

template<class V> struct FzVector { enum { size = 0 }; };  // of a vector type: its component, its size, and its comparison's type
template<class T, int N> struct FzSized;  // of a component and a size: the vector type
#define FZ_SIZE(T, N)                                                                        \
    template<> struct FzVector<T##N> { typedef T one; typedef T##N all; typedef bool##N truth; enum { size = N }; }; \
    template<> struct FzSized<T, N> { typedef T##N all; };
#define FZ_VECTORS(T)                                                                        \
    FZ_SIZE(T, 1) FZ_SIZE(T, 2) FZ_SIZE(T, 3) FZ_SIZE(T, 4)                                  \
    FZ T##1 make_##T##1(T x) { return T##1{x}; }                                             \
    FZ T##2 make_##T##2(T x, T y) { return T##2{x, y}; }                                     \
    FZ T##3 make_##T##3(T x, T y, T z) { return T##3{x, y, z}; }                             \
    FZ T##4 make_##T##4(T x, T y, T z, T w) { return T##4{x, y, z, w}; }                     \
    FZ T##2 make_##T##2(T x) { return T##2{x, x}; }                                          \
    FZ T##3 make_##T##3(T x) { return T##3{x, x, x}; }                                       \
    FZ T##4 make_##T##4(T x) { return T##4{x, x, x, x}; }
FZ_VECTORS(bool) FZ_VECTORS(char) FZ_VECTORS(uchar) FZ_VECTORS(short) FZ_VECTORS(ushort) FZ_VECTORS(int) FZ_VECTORS(uint)
FZ_VECTORS(longlong) FZ_VECTORS(ulonglong) FZ_VECTORS(float) FZ_VECTORS(double)
#ifdef SLANG_CUDA_ENABLE_HALF
FZ_VECTORS(__half)
#endif
template<class T, int N> using Vector = typename FzSized<T, N>::all;

template<class V> FZ typename FzVector<V>::one _slang_vector_get_element(V v, int i)
{
    return ((typename FzVector<V>::one*)&v)[i];
}
template<class V> FZ typename FzVector<V>::one* _slang_vector_get_element_ptr(const V* v, int i)
{
    return (typename FzVector<V>::one*)v + i;
}
template<class T, int N, class V> FZ Vector<T, N> _slang_vector_reshape(const V v)
{
    Vector<T, N> to;
    for (int i = 0; i < N; i++)
        *_slang_vector_get_element_ptr(&to, i) = i < FzVector<V>::size ? (T)_slang_vector_get_element(v, i) : T(0);
    return to;
}

template<class T> FZ T fz_remainder(T x, T y) { return x % y; }
FZ float fz_remainder(float x, float y) { return fmodf(x, y); }
FZ double fz_remainder(double x, double y) { return fmod(x, y); }
#define _slang_fmod fz_remainder
#ifdef SLANG_CUDA_ENABLE_HALF
FZ __half fz_remainder(__half x, __half y) { return __float2half(fmodf(__half2float(x), __half2float(y))); }
#endif

#define FZ_EACH(name, V, U, one)                                                                                 \
    template<class T FZ_ALSO_##U> FZ V name(T a, U b)                                                            \
    {                                                                                                            \
        V to;                                                                                                    \
        for (int i = 0; i < FzVector<T>::size; i++)                                                              \
            *_slang_vector_get_element_ptr(&to, i) = one;                                                        \
        return to;                                                                                               \
    }
#define FZ_ALSO_T
#define FZ_ALSO_U , class U
#define FZ_A _slang_vector_get_element(a, i)
#define FZ_B _slang_vector_get_element(b, i)
#define FZ_SAME typename FzVector<T>::all
#define FZ_TRUTH typename FzVector<T>::truth
#define FZ_BINARY(op) FZ_EACH(operator op, FZ_SAME, T, FZ_A op FZ_B)
#define FZ_COMPARE(op) FZ_EACH(operator op, FZ_TRUTH, T, FZ_A op FZ_B)
#define FZ_SHIFT(op) FZ_EACH(operator op, FZ_SAME, U, FZ_A op FZ_B)  // Slang shifts integers of all types by an int
FZ_BINARY(+) FZ_BINARY(-) FZ_BINARY(*) FZ_BINARY(/) FZ_EACH(operator %, FZ_SAME, T, fz_remainder(FZ_A, FZ_B))
FZ_BINARY(^) FZ_BINARY(&) FZ_BINARY(|) FZ_BINARY(&&) FZ_BINARY(||) FZ_SHIFT(<<) FZ_SHIFT(>>)
FZ_COMPARE(<) FZ_COMPARE(>) FZ_COMPARE(<=) FZ_COMPARE(>=) FZ_COMPARE(==) FZ_COMPARE(!=)
#define FZ_UNARY(op)                                                                                            \
    template<class T> FZ FZ_SAME operator op(T a)                                                               \
    {                                                                                                           \
        T to;                                                                                                   \
        for (int i = 0; i < FzVector<T>::size; i++)                                                             \
            *_slang_vector_get_element_ptr(&to, i) = op _slang_vector_get_element(a, i);                        \
        return to;                                                                                              \
    }
FZ_UNARY(-) FZ_UNARY(!) FZ_UNARY(~)
FZ uint3 operator*(uint3 a, uint3 b) { return operator*<uint3>(a, b); }  // blockIdx * blockDim, which is a dim3
#ifdef SLANG_CUDA_ENABLE_HALF  // one instruction for both halfs
FZ __half2 operator+(const __half2& a, const __half2& b) { return __hadd2(a, b); }
FZ __half2 operator-(const __half2& a, const __half2& b) { return __hsub2(a, b); }
FZ __half2 operator*(const __half2& a, const __half2& b) { return __hmul2(a, b); }
FZ __half2 operator/(const __half2& a, const __half2& b) { return __h2div(a, b); }
FZ __half2 operator-(const __half2& a) { return __hneg2(a); }
#endif

template<class T> FZ FZ_SAME _slang_select(FZ_TRUTH c, T a, T b)
{
    T to;
    for (int i = 0; i < FzVector<T>::size; i++)
        *_slang_vector_get_element_ptr(&to, i) =
            _slang_vector_get_element(c, i) ? _slang_vector_get_element(a, i) : _slang_vector_get_element(b, i);
    return to;
}
template<class T> FZ T _slang_select(bool c, T a, T b) { return c ? a : b; }

// ---- matrices

template<class T, int R, int C> struct Matrix
{
    Vector<T, C> rows[R];
    FZ Vector<T, C>& operator[](size_t i) { return rows[i]; }
    FZ const Vector<T, C>& operator[](size_t i) const { return rows[i]; }
};
template<class M> struct FzMatrix { enum { is = false }; };
template<class T, int R, int C> struct FzMatrix<Matrix<T, R, C>> { enum { is = true }; };
template<class T, int R, int C> struct FzVector<Matrix<T, R, C>> { typedef T one; enum { size = 0 }; };

template<class T, int R, int C, class U, int S, int D> FZ void fz_convert(Matrix<T, R, C>& to, const Matrix<U, S, D>& from)
{
    for (int i = 0; i < (R < S ? R : S); i++)
        for (int j = 0; j < (C < D ? C : D); j++)
            *_slang_vector_get_element_ptr(to.rows + i, j) = (T)_slang_vector_get_element(from.rows[i], j);
}
// of another matrix, of rows, of all components, or of one number for all
template<class T, int R, int C, class A, class... More> FZ Matrix<T, R, C> makeMatrix(A a, More... more)
{
    Matrix<T, R, C> to;
    if constexpr (FzMatrix<A>::is)
        fz_convert(to, a);
    else if constexpr (FzVector<A>::size != 0)
    {
        Vector<T, C> rows[] = {a, more...};
        for (int i = 0; i < R; i++)
            to.rows[i] = rows[i];
    }
    else
    {
        T all[] = {(T)a, (T)more...};
        for (int i = 0; i < R; i++)
            for (int j = 0; j < C; j++)
                *_slang_vector_get_element_ptr(to.rows + i, j) = all[sizeof...(more) ? i * C + j : 0];
    }
    return to;
}
#define FZ_MATRIX(op, one)                                                                                      \
    template<class T, int R, int C> FZ Matrix<T, R, C> operator op(const Matrix<T, R, C>& a, const Matrix<T, R, C>& b) \
    {                                                                                                           \
        Matrix<T, R, C> to;                                                                                     \
        for (int i = 0; i < R; i++)                                                                             \
            for (int j = 0; j < C; j++)                                                                         \
                *_slang_vector_get_element_ptr(to.rows + i, j) = one;                                           \
        return to;                                                                                              \
    }
#define FZ_MA _slang_vector_get_element(a.rows[i], j)
#define FZ_MB _slang_vector_get_element(b.rows[i], j)
#define FZ_MATRIX_BINARY(op) FZ_MATRIX(op, FZ_MA op FZ_MB)
FZ_MATRIX_BINARY(+) FZ_MATRIX_BINARY(-) FZ_MATRIX_BINARY(*) FZ_MATRIX_BINARY(/) FZ_MATRIX(%, fz_remainder(FZ_MA, FZ_MB))
FZ_MATRIX_BINARY(&) FZ_MATRIX_BINARY(|) FZ_MATRIX_BINARY(^) FZ_MATRIX_BINARY(&&) FZ_MATRIX_BINARY(||)
#define FZ_MATRIX_UNARY(op)                                                                                     \
    template<class T, int R, int C> FZ Matrix<T, R, C> operator op(const Matrix<T, R, C>& a)                    \
    {                                                                                                           \
        Matrix<T, R, C> to;                                                                                     \
        for (int i = 0; i < R; i++)                                                                             \
            for (int j = 0; j < C; j++)                                                                         \
                *_slang_vector_get_element_ptr(to.rows + i, j) = op _slang_vector_get_element(a.rows[i], j);    \
        return to;                                                                                              \
    }
FZ_MATRIX_UNARY(-) FZ_MATRIX_UNARY(!) FZ_MATRIX_UNARY(~)

// ---- numbers

#define FZ_FLOATS(name) FZ float F32_##name(float x) { return name##f(x); } FZ double F64_##name(double x) { return name(x); }
FZ_FLOATS(ceil) FZ_FLOATS(floor) FZ_FLOATS(round) FZ_FLOATS(trunc) FZ_FLOATS(sin) FZ_FLOATS(cos) FZ_FLOATS(tan) FZ_FLOATS(asin)
FZ_FLOATS(acos) FZ_FLOATS(atan) FZ_FLOATS(sinh) FZ_FLOATS(cosh) FZ_FLOATS(tanh) FZ_FLOATS(asinh) FZ_FLOATS(acosh) FZ_FLOATS(atanh)
FZ_FLOATS(log) FZ_FLOATS(log2) FZ_FLOATS(log10) FZ_FLOATS(exp) FZ_FLOATS(exp2) FZ_FLOATS(sqrt) FZ_FLOATS(rsqrt)
#define FZ_PAIRS(ours, name)                                                                                    \
    FZ float F32_##ours(float x, float y) { return name##f(x, y); }                                             \
    FZ double F64_##ours(double x, double y) { return name(x, y); }
FZ_PAIRS(min, fmin) FZ_PAIRS(max, fmax) FZ_PAIRS(pow, pow) FZ_PAIRS(fmod, fmod) FZ_PAIRS(remainder, remainder) FZ_PAIRS(atan2, atan2)
#define FZ_FLOAT_TYPE(T, F, s)                                                                                  \
    FZ T F##_abs(T x) { return fabs##s(x); }                                                                    \
    FZ T F##_frac(T x) { return x - F##_floor(x); }                                                             \
    FZ int F##_sign(T x) { return x == T(0) ? 0 : x < T(0) ? -1 : 1; }                                          \
    FZ bool F##_isnan(T x) { return isnan(x); }                                                                 \
    FZ bool F##_isinf(T x) { return isinf(x); }                                                                 \
    FZ bool F##_isfinite(T x) { return isfinite(x); }                                                           \
    FZ T F##_fma(T x, T y, T z) { return fma##s(x, y, z); }                                                     \
    FZ T F##_modf(T x, T* whole) { return modf##s(x, whole); }                                                  \
    FZ T F##_frexp(T x, int* e) { return frexp##s(x, e); }                                                      \
    FZ void F##_sincos(T x, T* s_, T* c) { sincos##s(x, s_, c); }
FZ_FLOAT_TYPE(float, F32, f) FZ_FLOAT_TYPE(double, F64, )
template<class T> FZ float make_float(T x) { return (float)x; }

template<class To, class From> FZ To slang_bit_cast(const From& x) { return *(const To*)&x; }
FZ uint F32_asuint(float x) { return slang_bit_cast<uint>(x); }
FZ int F32_asint(float x) { return slang_bit_cast<int>(x); }
FZ float U32_asfloat(uint x) { return slang_bit_cast<float>(x); }
FZ float I32_asfloat(int x) { return slang_bit_cast<float>(x); }
FZ uint U32_asint(int x) { return uint(x); }
FZ uint I32_asuint(int x) { return uint(x); }
FZ double U32_asdouble(uint low, uint high) { return slang_bit_cast<double>((uint64_t(high) << 32) | low); }
FZ double I32_asdouble(int low, int high) { return U32_asdouble(low, high); }
FZ void F64_asuint(double x, uint* low, uint* high) { *low = uint(slang_bit_cast<uint64_t>(x)); *high = uint(slang_bit_cast<uint64_t>(x) >> 32); }
FZ void F64_asint(double x, int* low, int* high) { *low = int(slang_bit_cast<uint64_t>(x)); *high = int(slang_bit_cast<uint64_t>(x) >> 32); }

#define FZ_INTEGERS(I, T, R)                                                                                    \
    FZ R I##_min(T a, T b) { return a < b ? a : b; }                                                            \
    FZ R I##_max(T a, T b) { return a > b ? a : b; }
FZ_INTEGERS(I32, int, int) FZ_INTEGERS(U32, uint, uint) FZ_INTEGERS(I64, int64_t, int64_t) FZ_INTEGERS(U64, uint64_t, int64_t)
FZ_INTEGERS(IPTR, intptr_t, intptr_t) FZ_INTEGERS(UPTR, uintptr_t, uintptr_t)
FZ_INTEGERS(I8, int8_t, int8_t) FZ_INTEGERS(U8, uint8_t, uint8_t) FZ_INTEGERS(I16, short, short) FZ_INTEGERS(U16, ushort, ushort)
#define FZ_SIGNED(I, T) FZ T I##_abs(T x) { return x < 0 ? -x : x; } FZ int I##_sign(T x) { return x == 0 ? 0 : x < 0 ? -1 : 1; }
#define FZ_UNSIGNED(I, T, R) FZ R I##_abs(T x) { return x; } FZ int I##_sign(T x) { return x != 0; }
FZ_SIGNED(I8, int8_t) FZ_SIGNED(I16, short) FZ_SIGNED(I32, int) FZ_SIGNED(I64, int64_t) FZ_SIGNED(IPTR, intptr_t)
FZ_UNSIGNED(U8, uint8_t, uint8_t) FZ_UNSIGNED(U16, ushort, ushort) FZ_UNSIGNED(U32, uint, uint)
FZ_UNSIGNED(U64, uint64_t, int64_t) FZ_UNSIGNED(UPTR, uintptr_t, uintptr_t)

FZ uint U8_countbits(uint8_t x) { return __popc(x); }
FZ uint I8_countbits(int8_t x) { return __popc(uint8_t(x)); }
FZ uint U16_countbits(uint16_t x) { return __popc(x); }
FZ uint I16_countbits(int16_t x) { return __popc(uint16_t(x)); }
FZ uint U32_countbits(uint x) { return __popc(x); }
FZ uint I32_countbits(int x) { return __popc(uint(x)); }
FZ uint U64_countbits(uint64_t x) { return __popcll(x); }
FZ uint I64_countbits(int64_t x) { return __popcll(uint64_t(x)); }
FZ uint U32_reversebits(uint x) { return __brev(x); }
FZ int I32_reversebits(int x) { return int(__brev(uint(x))); }
FZ uint64_t U64_reversebits(uint64_t x) { return __brevll(x); }
FZ int64_t I64_reversebits(int64_t x) { return int64_t(__brevll(uint64_t(x))); }
// the place of a bit, or -1: the lowest that is set; the highest, of negative numbers the highest that is not
FZ uint U32_firstbitlow(uint x) { return x == 0 ? ~0u : __ffs(x) - 1; }
FZ uint I32_firstbitlow(int x) { return U32_firstbitlow(uint(x)); }
FZ uint U64_firstbitlow(uint64_t x) { return x == 0 ? ~0u : __ffsll(x) - 1u; }
FZ uint I64_firstbitlow(int64_t x) { return U64_firstbitlow(uint64_t(x)); }
FZ uint U32_firstbithigh(uint x) { x = int(x) < 0 ? ~x : x; return x == 0 ? ~0u : 31 - __clz(x); }
FZ uint I32_firstbithigh(int x) { return U32_firstbithigh(uint(x)); }
FZ uint U64_firstbithigh(uint64_t x) { return x == 0 ? ~0u : 63 - __clzll(x); }
FZ uint I64_firstbithigh(int64_t x) { return U64_firstbithigh(x < 0 ? ~x : x); }

#ifdef SLANG_CUDA_ENABLE_HALF
#define FZ_HALFS(ours, call) FZ __half F16_##ours(__half x) { return call(x); }
FZ_HALFS(ceil, hceil) FZ_HALFS(floor, hfloor) FZ_HALFS(round, hrint) FZ_HALFS(trunc, htrunc) FZ_HALFS(abs, __habs)
FZ_HALFS(sin, hsin) FZ_HALFS(cos, hcos) FZ_HALFS(log, hlog) FZ_HALFS(log2, hlog2) FZ_HALFS(log10, hlog10)
FZ_HALFS(exp, hexp) FZ_HALFS(exp2, hexp2) FZ_HALFS(sqrt, hsqrt) FZ_HALFS(rsqrt, hrsqrt)
#define FZ_BY_FLOATS(name) FZ __half F16_##name(__half x) { return __float2half(name##f(__half2float(x))); }
FZ_BY_FLOATS(tan) FZ_BY_FLOATS(asin) FZ_BY_FLOATS(acos) FZ_BY_FLOATS(atan) FZ_BY_FLOATS(sinh) FZ_BY_FLOATS(cosh) FZ_BY_FLOATS(tanh)
FZ_BY_FLOATS(asinh) FZ_BY_FLOATS(acosh) FZ_BY_FLOATS(atanh)
#define FZ_PAIRS_BY_FLOATS(name)                                                                                \
    FZ __half F16_##name(__half x, __half y) { return __float2half(name##f(__half2float(x), __half2float(y))); }
FZ_PAIRS_BY_FLOATS(pow) FZ_PAIRS_BY_FLOATS(fmod) FZ_PAIRS_BY_FLOATS(remainder) FZ_PAIRS_BY_FLOATS(atan2)
FZ __half F16_min(__half x, __half y) { return __hmin(x, y); }
FZ __half F16_max(__half x, __half y) { return __hmax(x, y); }
FZ __half F16_fma(__half x, __half y, __half z) { return __hfma(x, y, z); }
FZ __half F16_frac(__half x) { return x - hfloor(x); }
FZ int F16_sign(__half x) { return x == __half(0.0f) ? 0 : x < __half(0.0f) ? -1 : 1; }
FZ bool F16_isnan(__half x) { return __hisnan(x); }
FZ bool F16_isinf(__half x) { return __hisinf(x); }
FZ bool F16_isfinite(__half x) { return !__hisinf(x) && !__hisnan(x); }
FZ void F16_sincos(__half x, __half* s, __half* c) { *s = hsin(x); *c = hcos(x); }
FZ ushort F16_asuint(__half x) { return __half_as_ushort(x); }
FZ short F16_asint(__half x) { return __half_as_short(x); }
#endif

// ---- the threads of a warp, and atomic operations

FZ uint _getLaneId() { return ((threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x) & 31; }
FZ int _getActiveMask() { return __ballot_sync(__activemask(), true); }
template<class V> FZ V _waveShuffleMultiple(int mask, V from, int lane)
{
    typedef typename FzVector<V>::one T;
    V to;
    for (size_t i = 0; i < sizeof(V) / sizeof(T); ++i)
        ((T*)&to)[i] = __shfl_sync(mask, ((const T*)&from)[i], lane);
    return to;
}
FZ bool __ldg(const bool* p) { return __ldg((const char*)p) != 0; }
FZ longlong atomicAdd(longlong* p, longlong x) { return longlong(atomicAdd((ulonglong*)p, ulonglong(x))); }
FZ longlong atomicCAS(longlong* p, longlong was, longlong x) { return longlong(atomicCAS((ulonglong*)p, ulonglong(was), ulonglong(x))); }
