// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// Compute operations of training: matrix products, conversions and the optimizer. For backends that
// move data; a backend that cannot compute must report it.
#include "backend/adamw.h"
#include "backend/contract_world.h"
#include "support/catch.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

namespace ncclprobe::contract {
namespace {

using model::DataType;
using model::GemmLayout;
using model::GemmMath;

// Small whole numbers are exact in every type.
float decode(DataType type, const std::byte* at) {
  if (type == DataType::f32) {
    float value = 0;
    std::memcpy(&value, at, sizeof value);
    return value;
  }
  std::uint16_t bits = 0;
  std::memcpy(&bits, at, sizeof bits);
  if (type == DataType::bf16) {
    std::uint32_t wide = std::uint32_t{bits} << 16;
    float value = 0;
    std::memcpy(&value, &wide, sizeof value);
    return value;
  }
  int exponent = bits >> 10 & 0x1F;
  int fraction = bits & 0x3FF;
  float magnitude = exponent == 0 ? std::ldexp(static_cast<float>(fraction), -24)
                                  : std::ldexp(static_cast<float>(fraction + 1024), exponent - 25);
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

// A device's buffer with these values behind `offset` poisoned bytes.
struct Values {
  std::unique_ptr<backend::Buffer> buffer;
  std::uint64_t offset = 0;
  DataType type = DataType::f32;
  std::uint64_t count = 0;

  Values(backend::Device& device, DataType of, const std::vector<float>& values,
         std::uint64_t behind = 0)
      : buffer(device.allocate(behind + values.size() * model::size_bytes(of) + 64)),
        offset(behind), type(of), count(values.size()) {
    buffer->poison();
    std::vector<std::byte> bytes(count * model::size_bytes(type));
    for (std::uint64_t i = 0; i < count; ++i) {
      std::uint64_t bits = model::encode(type, static_cast<double>(values[i]));
      std::memcpy(&bytes[i * model::size_bytes(type)], &bits, model::size_bytes(type));
    }
    buffer->write(offset, bytes);
  }
  backend::Place place() const { return {*buffer, offset}; }
  std::vector<float> read() const {
    std::vector<std::byte> bytes(count * model::size_bytes(type));
    buffer->read(offset, bytes);
    std::vector<float> values;
    for (std::uint64_t i = 0; i < count; ++i)
      values.push_back(decode(type, &bytes[i * model::size_bytes(type)]));
    return values;
  }
  bool end_is_untouched() const {
    std::vector<std::byte> tail(64);
    buffer->read(offset + count * model::size_bytes(type), tail);
    for (std::byte one : tail)
      if (one != std::byte{model::k_poison_byte})
        return false;
    return true;
  }
};

std::vector<float> whole_numbers(std::uint64_t count, int most, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_int_distribution<int> number(-most, most);
  std::vector<float> values;
  for (std::uint64_t i = 0; i < count; ++i)
    values.push_back(static_cast<float>(number(random)));
  return values;
}

struct Shape {
  std::uint64_t m, n, k, batch;
};

std::vector<float> product(const Shape& s, GemmLayout layout, const std::vector<float>& a,
                           const std::vector<float>& b) {
  std::vector<float> c(s.batch * s.m * s.n);
  for (std::uint64_t q = 0; q < s.batch; ++q)
    for (std::uint64_t j = 0; j < s.n; ++j)
      for (std::uint64_t i = 0; i < s.m; ++i) {
        float sum = 0;
        for (std::uint64_t p = 0; p < s.k; ++p) {
          std::uint64_t in_a = layout == GemmLayout::tn ? i * s.k + p : p * s.m + i;
          std::uint64_t in_b = layout == GemmLayout::nt ? p * s.n + j : j * s.k + p;
          sum += a[q * s.m * s.k + in_a] * b[q * s.k * s.n + in_b];
        }
        c[(q * s.n + j) * s.m + i] = sum;
      }
  return c;
}

// False if the backend cannot multiply.
bool multiplies(backend::Stream& stream, const backend::GemmCall& call) {
  try {
    stream.prepare(call);
    return true;
  } catch (const base::Exception& error) {
    INFO(error.error().text());
    CHECK((error.error().code == base::Errc::unsupported ||
           error.error().code == base::Errc::unavailable));
    return false;
  }
}

} // namespace

TEST_CASE("products of matrices are right in every type, layout and odd shape") {
  NCCLPROBE_CONTRACT(subject, 1);
  World world(subject, 1);
  auto& stream = world.stream(0);
  for (DataType type : {DataType::f32, DataType::f16, DataType::bf16})
    for (GemmLayout layout : {GemmLayout::nn, GemmLayout::nt, GemmLayout::tn})
      for (GemmMath math : {GemmMath::full, GemmMath::tf32})
        for (Shape shape : {Shape{1, 1, 1, 1}, Shape{8, 16, 32, 1}, Shape{72, 80, 264, 1},
                            Shape{5, 7, 3, 3}, Shape{65, 3, 257, 2}}) {
          if (math == GemmMath::tf32 && type != DataType::f32)
            continue;
          INFO(model::to_string(type)
               << " " << model::to_string(layout) << " " << model::to_string(math) << " " << shape.m
               << " x " << shape.n << " x " << shape.k << " x " << shape.batch);
          // Factors of at most 1: sums stay exact in bf16's 8 bits as long as they are small.
          auto a = whole_numbers(shape.batch * shape.m * shape.k, 1, 1);
          auto b = whole_numbers(shape.batch * shape.k * shape.n, 1, 2);
          auto expected = product(shape, layout, a, b);
          Values in_a(world.device(0), type, a);
          Values in_b(world.device(0), type, b, 256);
          Values out(world.device(0), type, std::vector<float>(expected.size(), 77), 512);
          backend::GemmCall call{in_a.place(), in_b.place(), out.place(), shape.m, shape.n,
                                 shape.k,      shape.batch,  type,        layout,  math};
          if (!multiplies(stream, call))
            return;

          stream.multiply(call);
          world.wait();

          CHECK(out.read() == expected);
          CHECK(out.end_is_untouched());
        }
}

TEST_CASE("a product that leaves its buffers is refused") {
  NCCLPROBE_CONTRACT(subject, 1);
  World world(subject, 1);
  Values small(world.device(0), DataType::f32, std::vector<float>(64));
  Values large(world.device(0), DataType::f32, std::vector<float>(256));
  if (!multiplies(world.stream(0), {small.place(), small.place(), small.place(), 8, 8, 8}))
    return;

  CHECK_THROWS_AS(world.stream(0).prepare(
                      backend::GemmCall{small.place(), large.place(), large.place(), 16, 16, 16}),
                  base::Exception);
}

TEST_CASE("conversions round to nearest even, and what is converted is in order with the rest") {
  NCCLPROBE_CONTRACT(subject, 1);
  World world(subject, 1);
  auto& stream = world.stream(0);
  // Ties in bf16 (8 bits) and f16 (11 bits), and odd counts beyond any vector width.
  std::vector<float> values{1.0F, 1.00390625F, 1.01171875F, 1.00048828125F, -2.5F, 0.0F, 300.0F};
  std::vector<float> as_bf16{1.0F, 1.0F, 1.015625F, 1.0F, -2.5F, 0.0F, 300.0F};
  std::vector<float> as_f16{1.0F, 1.00390625F, 1.01171875F, 1.0F, -2.5F, 0.0F, 300.0F};
  for (std::uint64_t copies : {1U, 3U, 1001U})
    for (std::uint64_t behind : {0U, 4U}) {
      auto repeated = [&](const std::vector<float>& some) {
        std::vector<float> all;
        for (std::uint64_t i = 0; i < copies; ++i)
          all.insert(all.end(), some.begin(), some.end());
        return all;
      };
      std::vector<float> nothing(repeated(values).size(), 77);
      Values f32(world.device(0), DataType::f32, repeated(values), behind);
      Values bf16(world.device(0), DataType::bf16, nothing, behind);
      Values f16(world.device(0), DataType::f16, nothing, behind);
      Values back(world.device(0), DataType::f32, nothing);
      Values same(world.device(0), DataType::bf16, nothing);
      auto convert = [&](const Values& from, const Values& into) {
        stream.convert({from.place(), into.place(), from.count, from.type, into.type});
      };

      convert(f32, bf16);
      convert(f32, f16);
      convert(bf16, back);
      convert(bf16, same);
      world.wait();

      CHECK(bf16.read() == repeated(as_bf16));
      CHECK(f16.read() == repeated(as_f16));
      CHECK(back.read() == repeated(as_bf16));
      CHECK(same.read() == repeated(as_bf16));
      for (const Values* one : {&f32, &bf16, &f16, &back, &same})
        CHECK(one->end_is_untouched());
    }
}

TEST_CASE("the optimizer makes steps of AdamW") {
  NCCLPROBE_CONTRACT(subject, 1);
  World world(subject, 1);
  auto& stream = world.stream(0);
  using namespace backend::adamw;
  for (DataType type : {DataType::f32, DataType::bf16}) {
    constexpr std::uint64_t k_count = 1003;
    std::vector<float> g = whole_numbers(k_count, 3, 5);
    std::vector<float> w = whole_numbers(k_count, 2, 6);
    std::vector<float> m(k_count, 0.25F);
    std::vector<float> v(k_count, 4.0F);
    std::vector<float> both = m;
    both.insert(both.end(), v.begin(), v.end());
    Values gradients(world.device(0), type, g);
    Values weights(world.device(0), type, w);
    Values state(world.device(0), DataType::f32, both);

    for (int step = 0; step < 2; ++step)
      stream.optimize({gradients.place(), weights.place(), state.place(), k_count, type});
    world.wait();

    auto new_w = weights.read();
    auto new_state = state.read();
    double worst_w = 0;
    double worst_state = 0;
    for (std::uint64_t i = 0; i < k_count; ++i) {
      for (int step = 0; step < 2; ++step) {
        m[i] += (1 - k_first_decay) * (g[i] - m[i]);
        v[i] = k_second_decay * v[i] + (1 - k_second_decay) * g[i] * g[i];
        w[i] -= k_learning_rate * (m[i] / (std::sqrt(v[i]) + k_epsilon) + k_weight_decay * w[i]);
      }
      worst_w = std::max(worst_w, std::fabs(static_cast<double>(new_w[i]) - w[i]));
      worst_state = std::max({worst_state, std::fabs(static_cast<double>(new_state[i]) - m[i]),
                              std::fabs(static_cast<double>(new_state[k_count + i]) - v[i])});
    }
    CHECK(worst_w <= (type == DataType::f32 ? 1e-6 : 0.02)); // bf16 keeps 8 bits of the weight
    CHECK(worst_state <= 1e-5);
    CHECK(weights.end_is_untouched());
    CHECK(state.end_is_untouched());
    CHECK(gradients.read() == g);
  }
}

TEST_CASE("a product takes longer the larger it is, as events for timing tell") {
  NCCLPROBE_CONTRACT(subject, 1);
  World world(subject, 1);
  auto& stream = world.stream(0);
  auto& device = world.device(0);
  constexpr std::uint64_t k_large = 192;
  Values a(device, DataType::f32, whole_numbers(k_large * k_large, 1, 1));
  Values b(device, DataType::f32, whole_numbers(k_large * k_large, 1, 2));
  Values c(device, DataType::f32, whole_numbers(k_large * k_large, 1, 3));
  auto call = [&](std::uint64_t side, std::uint64_t batch) {
    return backend::GemmCall{a.place(), b.place(), c.place(), side, side, side, batch};
  };
  if (!multiplies(stream, call(k_large, 1)))
    return;
  stream.prepare(call(16, 1));
  auto timed_ns = [&](std::uint64_t side) {
    auto begin = device.create_event(backend::EventUse::time);
    auto end = device.create_event(backend::EventUse::time);
    stream.record(*begin);
    for (int i = 0; i < 20; ++i)
      stream.multiply(call(side, 1));
    stream.record(*end);
    world.wait();
    return device.elapsed_ns(*begin, *end);
  };
  timed_ns(k_large); // kernels are loaded on first use

  CHECK(timed_ns(k_large) > 0);
  // Both take a GPU no time. A busy machine adds time to each, so the shortest of several are
  // compared: 192 takes 1,728 times the work of 16.
  auto shortest_ns = [&](std::uint64_t side) {
    std::int64_t shortest = timed_ns(side);
    for (int i = 0; i < 10; ++i)
      shortest = std::min(shortest, timed_ns(side));
    return shortest;
  };
  if (subject.name == "host")
    CHECK(shortest_ns(k_large) > 3 * shortest_ns(16));
}

} // namespace ncclprobe::contract
