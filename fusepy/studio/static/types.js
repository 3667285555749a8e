// types as colours and words
const HUES = { float: 205, half: 190, double: 225, int: 145, uint: 115, bool: 5, string: 0, float2: 275, float3: 32, float4: 330 };

/** The type of one element: float3 of Tensor<float3, 2>. */
export const element = (type) => /<\s*([\w.]+)/.exec(type)?.[1] ?? type;

/** Whole arrays and textures; the others are taken element by element. */
export const isWhole = (type) => type.includes("<");

/** A style with the hue of a type, for `hsl(var(--hue) ...)` in the style sheets. */
export function hue(type) {
  const name = element(type);
  if (name === "any" || name === "file") return { "--hue": 0, "--port-colour": "0%" };
  const found = HUES[name] ?? HUES[name.replace(/^half/, "float").replace(/^double/, "float")];
  return { "--hue": found ?? [...name].reduce((sum, c) => (sum * 31 + c.charCodeAt(0)) % 360, 7) };
}

const UNITS = ["B", "kB", "MB", "GB", "TB"];

export function bytes(count) {
  let unit = 0;
  while (count >= 999.5 && unit < UNITS.length - 1) [count, unit] = [count / 1000, unit + 1];
  return `${digits(count)} ${UNITS[unit]}`;
}

export function time(us) {
  return us >= 999.5 ? `${digits(us / 1000)} ms` : `${digits(us)} µs`;
}

/** A count in few letters: 199 k. */
export const many = (count) => new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 }).format(count);

const digits = (number) => (number >= 99.5 || Number.isInteger(number) ? Math.round(number) : number.toPrecision(2));

/** A number in at most five digits. */
export function short(value) {
  if (typeof value !== "number") return String(value);
  return Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(5)));
}

/** The parts of a name, between which a line may break. */
export const parts = (name) => name.split(/(?<=[_.])|(?<=[a-z])(?=[A-Z])/);
