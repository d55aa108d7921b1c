// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/clock.h"
#include "nvidia/factory.h"
#include "nvidia/gpus.h"
#include "support/byte_pattern.h"
#include "support/catch.h"

// Properties beyond the contract of all backends (tests/backend).
using namespace ncclprobe;

namespace {

struct OneStream {
  std::unique_ptr<backend::Backend> backend = nvidia::make_backend({});
  std::unique_ptr<backend::Device> device = backend->open_device(0);
};

std::vector<std::byte> content(backend::Buffer& buffer) {
  std::vector<std::byte> bytes(buffer.size_bytes());
  buffer.read(0, bytes);
  return bytes;
}

} // namespace

TEST_CASE("a spin lasts at least as long as asked") {
  NCCLPROBE_NEEDS_GPUS(1);
  OneStream gpu;
  auto stream = gpu.device->open_stream(0);
  constexpr std::int64_t asked_ns = 20'000'000;
  constexpr std::int64_t timer_step_ns = 2'000; // of the GPU's global timer, on the coarsest GPUs

  std::int64_t start_ns = base::monotonic_ns();
  stream->spin(asked_ns);
  support::wait_until_idle(*stream);

  CHECK(base::monotonic_ns() - start_ns >= asked_ns - timer_step_ns);
}

TEST_CASE("streams of any priority that people may write can be opened") {
  NCCLPROBE_NEEDS_GPUS(1);
  OneStream gpu;

  for (int priority : {0, -1, -100, 100}) {
    auto stream = gpu.device->open_stream(priority);
    stream->spin(1000);
    support::wait_until_idle(*stream);
  }
}

TEST_CASE("a mark can be made, of any length") {
  NCCLPROBE_NEEDS_GPUS(1);
  OneStream gpu;
  auto stream = gpu.device->open_stream(0);

  stream->mark("");
  stream->mark(std::string(1000, 'x'));

  CHECK(stream->idle());
}

TEST_CASE("a copy that leaves its buffers is refused") {
  NCCLPROBE_NEEDS_GPUS(1);
  OneStream gpu;
  auto stream = gpu.device->open_stream(0);
  auto small = gpu.device->allocate(16);
  auto large = gpu.device->allocate(32);

  CHECK_THROWS_AS(stream->copy({{*large, 0}, {*small, 0}, 32}), base::Exception);
  CHECK_THROWS_AS(stream->copy({{*large, 24}, {*small, 0}, 16}), base::Exception);
}

TEST_CASE("a GPU that is not there is unavailable and the message tells how many are") {
  NCCLPROBE_NEEDS_GPUS(1);
  auto backend = nvidia::make_backend({});
  try {
    (void)backend->open_device(1000);
    FAIL("GPU 1000 was opened");
  } catch (const base::Exception& error) {
    CHECK(error.error().code == base::Errc::unavailable);
    CHECK_THAT(error.what(), ContainsSubstring("GPU 1000"));
  }
}

TEST_CASE("bytes are copied from one GPU to another") {
  NCCLPROBE_NEEDS_GPUS(2);
  auto backend = nvidia::make_backend({});
  auto first = backend->open_device(0);
  auto second = backend->open_device(1);
  auto stream = first->open_stream(0);
  constexpr std::uint64_t bytes = 1 << 20;
  auto source = first->allocate(bytes);
  auto target = second->allocate(bytes + 64);
  constexpr model::Pattern pattern = support::k_byte_pattern;
  source->fill(0, model::DataType::u8, pattern, 0, bytes);
  target->poison();

  stream->copy({{*source, 0}, {*target, 64}, bytes});
  stream->copy({{*source, 0}, {*target, 64}, bytes}); // the direct path is opened once
  support::wait_until_idle(*stream);

  std::vector<std::byte> arrived(bytes);
  target->read(64, arrived);
  CHECK(arrived == content(*source));
}
