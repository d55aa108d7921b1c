// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "nvidia/factory.h"
#include "nvidia/gpus.h"
#include "nvidia/matrix_products.h"
#include "support/catch.h"

// Properties beyond the contract of all backends (tests/backend/contract_compute.cpp).
using namespace ncclprobe;
using model::DataType;
using model::GemmLayout;
using model::GemmMath;

namespace {

constexpr model::Pattern k_numbers =
    model::pattern_for(1, model::Collective::all_gather, DataType::bf16, model::ReduceOp::sum, 1);

// Square matrices on a GPU, each in its own buffer, filled with numbers other than NaN.
struct Bench {
  std::unique_ptr<backend::Backend> backend = nvidia::make_backend({});
  std::unique_ptr<backend::Device> device = backend->open_device(0);
  std::unique_ptr<backend::Stream> stream = device->open_stream(0);
  std::vector<std::unique_ptr<backend::Buffer>> matrices;

  explicit Bench(std::uint64_t bytes) {
    for (int i = 0; i < 3; ++i) {
      matrices.push_back(device->allocate(bytes));
      matrices.back()->fill(0, DataType::bf16, k_numbers, i, bytes / 2);
    }
  }
  backend::GemmCall call(std::uint64_t m, std::uint64_t n, std::uint64_t k, DataType type,
                         GemmMath math = GemmMath::full, GemmLayout layout = GemmLayout::tn) {
    return {{*matrices[0]}, {*matrices[1]}, {*matrices[2]}, m, n, k, 1, type, layout, math};
  }
  // Per second, of 20 products behind one that warms up.
  double teraflops(const backend::GemmCall& one) {
    auto begin = device->create_event(backend::EventUse::time);
    auto end = device->create_event(backend::EventUse::time);
    constexpr int k_times = 20;
    stream->prepare(one);
    stream->multiply(one);
    stream->record(*begin);
    for (int i = 0; i < k_times; ++i)
      stream->multiply(one);
    stream->record(*end);
    support::wait_until_idle(*stream);
    return 2e-3 * static_cast<double>(one.m * one.n * one.k) * k_times /
           static_cast<double>(device->elapsed_ns(*begin, *end));
  }
};

} // namespace

TEST_CASE("tensor cores make products faster, the more so the narrower the type") {
  NCCLPROBE_NEEDS_GPUS(1);
  constexpr std::uint64_t k_side = 4096;
  Bench bench(k_side * k_side * 4);

  double f32 = bench.teraflops(bench.call(k_side, k_side, k_side, DataType::f32));
  double tf32 = bench.teraflops(bench.call(k_side, k_side, k_side, DataType::f32, GemmMath::tf32));
  double bf16 = bench.teraflops(bench.call(k_side, k_side, k_side, DataType::bf16));
  double f16 = bench.teraflops(bench.call(k_side, k_side, k_side, DataType::f16));

  WARN("Tflop/s: f32 " << f32 << ", tf32 " << tf32 << ", bf16 " << bf16 << ", f16 " << f16);
  CHECK(tf32 > 1.5 * f32);
  CHECK(bf16 > 1.3 * tf32);
  CHECK(f16 > 1.3 * tf32);
}

TEST_CASE("products, conversions and the optimizer can be captured and replayed") {
  NCCLPROBE_NEEDS_GPUS(1);
  Bench bench(1 << 20);
  auto call = bench.call(64, 64, 64, DataType::bf16);
  bench.stream->prepare(call);
  std::vector<std::vector<backend::Stream*>> streams{{bench.stream.get()}};
  auto state = bench.device->allocate(8 * 4096);
  state->write(0, std::vector<std::byte>(8 * 4096));
  auto step = [&] {
    bench.stream->multiply(call);
    bench.stream->convert(
        {call.c, {*bench.matrices[2], 1 << 19}, 4096, DataType::bf16, DataType::f32});
    bench.stream->optimize({call.c, call.a, {*state}, 4096, DataType::bf16});
  };
  auto content = [&](backend::Buffer& buffer, std::uint64_t offset, std::uint64_t bytes) {
    std::vector<std::byte> all(bytes);
    buffer.read(offset, all);
    return all;
  };

  auto graph = bench.backend->capture(streams, step);
  step();
  support::wait_until_idle(*bench.stream);
  auto product = content(*bench.matrices[2], 0, 2 * 4096);
  auto moments = content(*state, 0, 8 * 4096);
  bench.matrices[2]->poison();
  state->write(0, std::vector<std::byte>(8 * 4096));
  bench.matrices[0]->fill(0, DataType::bf16, k_numbers, 0, 1 << 19);
  graph->launch();
  support::wait_until_idle(*bench.stream);

  CHECK(content(*bench.matrices[2], 0, 2 * 4096) == product);
  CHECK(content(*state, 0, 8 * 4096) == moments);
}

TEST_CASE("a product that nobody prepared is refused, and words tell of awkward ones") {
  NCCLPROBE_NEEDS_GPUS(1);
  Bench bench(1 << 20);
  bench.stream->prepare(bench.call(64, 64, 64, DataType::bf16));
  bench.stream->prepare(bench.call(67, 64, 64, DataType::bf16));

  auto words = bench.backend->words();

  CHECK_THROWS_AS(bench.stream->multiply(bench.call(128, 64, 64, DataType::bf16)), base::Exception);
  REQUIRE(words.size() == 1);
  CHECK_THAT(words[0], ContainsSubstring("m=67 is not a multiple of 8"));
}
