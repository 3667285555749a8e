"""Structs with methods: a Python class bound to a Slang struct, methods that change fields, a tensor of instances."""

import numpy as np

import fusepy as fp

SOURCE = """
struct Scaler
{
    float scale;

    void scale_value(inout float value) { value *= scale; }
};

struct Particle
{
    float3 position;
    float3 velocity;

    float energy() { return dot(velocity, velocity) / 2; }
    [mutating] void step(float dt) { velocity.y -= 9.81 * dt; position += velocity * dt; }
};
"""
m = fp.Module.load_from_source(fp.default_device(), "scaler", SOURCE)


class Scaler(fp.Struct):
    scale_value: fp.Function

    def __init__(self, module, scale):
        super().__init__(module)
        self.scale = scale


numbers = fp.Tensor.from_numpy(m.device, np.array([1, 2, 3, 4], np.float32))
Scaler(m, 100).scale_value(numbers)
print(numbers.to_numpy())
assert numbers.to_numpy().tolist() == [100, 200, 300, 400]


@fp.struct("Particle")
class Ball:
    step: fp.Function
    energy: fp.Function

    def __init__(self, position, velocity):
        self.position, self.velocity = position, velocity


# Each field is an array of its own. A mutating method writes those back that can be written.
ball = Ball(m, np.zeros((5, 3), np.float32), np.tile(np.float32([1, 2, 0]), (5, 1)))
ball.step(0.1)
print(ball.position[0], ball.energy()[0])
assert np.allclose(ball.position, [0.1, (2 - 0.981) * 0.1, 0])

# Or all fields together in one tensor of structs.
balls = fp.InstanceTensor(m.Particle, (5,)).construct([0.0, 0.0, 0.0], np.tile(np.float32([1, 2, 0]), (5, 1)))
balls.step(0.1)
print(balls[0].to_numpy())
assert np.allclose(balls.to_numpy()["position"], ball.position)
