// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "model/data_pattern.h"
#include "nvidia/factory.h"
#include "nvidia/gpus.h"
#include "support/catch.h"

#include <array>
#include <cstring>

using namespace ncclprobe;
using model::Collective;
using model::DataType;
using model::ReduceOp;

namespace {

constexpr DataType k_types[] = {DataType::f32, DataType::f16, DataType::bf16,   DataType::f64,
                                DataType::i8,  DataType::u8,  DataType::i32,    DataType::u32,
                                DataType::i64, DataType::u64, DataType::f8e4m3, DataType::f8e5m2};
constexpr std::uint64_t k_count = 100'003; // prime: no multiple of any block or vector width
constexpr std::uint64_t k_offset_elements = 3;

struct OneGpu {
  std::unique_ptr<backend::Backend> backend = nvidia::make_backend({});
  std::unique_ptr<backend::Device> device = backend->open_device(0);
};

std::uint64_t bits_at(const std::vector<std::byte>& bytes, DataType type, std::uint64_t element) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, bytes.data() + element * model::size_bytes(type), model::size_bytes(type));
  return bits;
}

void write_element(backend::Buffer& buffer, std::uint64_t offset, DataType type,
                   std::uint64_t bits) {
  buffer.write(offset, {reinterpret_cast<const std::byte*>(&bits), model::size_bytes(type)});
}

} // namespace

TEST_CASE("what the GPU fills in is what the oracle says, for every type, and nothing beside it") {
  NCCLPROBE_NEEDS_GPUS(1);
  OneGpu gpu;
  for (DataType type : k_types) {
    INFO(model::to_string(type));
    std::uint64_t element = model::size_bytes(type);
    auto buffer = gpu.device->allocate((k_count + 2 * k_offset_elements) * element);
    model::Pattern pattern = model::pattern_for(7, Collective::all_reduce, type, ReduceOp::sum, 3);
    buffer->poison();

    buffer->fill(k_offset_elements * element, type, pattern, 2, k_count);

    std::vector<std::byte> bytes(buffer->size_bytes());
    buffer->read(0, bytes);
    std::uint64_t wrong = 0;
    for (std::uint64_t i = 0; i < k_count; ++i)
      if (bits_at(bytes, type, k_offset_elements + i) != model::encode(type, pattern.number(2, i)))
        ++wrong;
    CHECK(wrong == 0);
    std::uint64_t touched = 0;
    for (std::uint64_t i = 0; i < k_offset_elements * element; ++i)
      touched += (bytes[i] != std::byte{model::k_poison_byte}) +
                 (bytes[bytes.size() - 1 - i] != std::byte{model::k_poison_byte});
    CHECK(touched == 0);
  }
}

TEST_CASE("a copy pattern that was filled in compares equal on the GPU") {
  NCCLPROBE_NEEDS_GPUS(1);
  OneGpu gpu;
  for (DataType type : k_types) {
    INFO(model::to_string(type));
    std::uint64_t offset = k_offset_elements * model::size_bytes(type);
    auto buffer = gpu.device->allocate(k_count * model::size_bytes(type) + offset);
    model::Pattern pattern = model::pattern_for(1, Collective::broadcast, type, ReduceOp::sum, 4);
    buffer->fill(offset, type, pattern, 3, k_count);

    backend::Mismatch found = buffer->compare(
        offset, type, pattern,
        model::expectation_for(Collective::broadcast, ReduceOp::sum, 3, k_count, 0, 4));

    CHECK(found.elements == k_count);
    CHECK(found.wrong == 0);
  }
}

TEST_CASE("reductions computed on the CPU compare equal on the GPU, for every type and operation") {
  NCCLPROBE_NEEDS_GPUS(1);
  OneGpu gpu;
  constexpr std::uint64_t count = 4099;
  for (DataType type : k_types)
    for (const auto& [op, op_name] : enum_names(ReduceOp{}))
      for (int ranks : {1, 3, 8}) {
        INFO(model::to_string(type) << " " << op_name << " " << ranks << " ranks");
        model::Pattern pattern = model::pattern_for(5, Collective::all_reduce, type, op, ranks);
        model::Expectation expected =
            model::expectation_for(Collective::all_reduce, op, 0, count, 0, ranks);
        std::vector<std::byte> bytes(count * model::size_bytes(type));
        for (std::uint64_t i = 0; i < count; ++i) {
          std::uint64_t bits = model::encode(type, expected.number(pattern, type, i));
          std::memcpy(bytes.data() + i * model::size_bytes(type), &bits, model::size_bytes(type));
        }
        auto buffer = gpu.device->allocate(bytes.size());
        buffer->write(0, bytes);

        CHECK(buffer->compare(0, type, pattern, expected).wrong == 0);
      }
}

TEST_CASE("one planted wrong element is found, counted and shown") {
  NCCLPROBE_NEEDS_GPUS(1);
  OneGpu gpu;
  for (DataType type : k_types) {
    INFO(model::to_string(type));
    constexpr std::uint64_t planted = 77'777;
    auto buffer = gpu.device->allocate(k_count * model::size_bytes(type));
    model::Pattern pattern = model::pattern_for(9, Collective::broadcast, type, ReduceOp::sum, 2);
    buffer->fill(0, type, pattern, 1, k_count);
    std::uint64_t bad = model::encode(type, pattern.number(1, planted)) ^ 1;
    write_element(*buffer, planted * model::size_bytes(type), type, bad);

    backend::Mismatch found = buffer->compare(
        0, type, pattern,
        model::expectation_for(Collective::broadcast, ReduceOp::sum, 1, k_count, 0, 2));

    CHECK(found.wrong == 1);
    CHECK(found.first == planted);
    CHECK(found.first_bits == bad);
  }
}

TEST_CASE("poison is never taken for data") {
  NCCLPROBE_NEEDS_GPUS(1);
  OneGpu gpu;
  for (DataType type : k_types) {
    INFO(model::to_string(type));
    auto buffer = gpu.device->allocate(k_count * model::size_bytes(type));
    model::Pattern pattern = model::pattern_for(2, Collective::all_reduce, type, ReduceOp::sum, 2);
    buffer->poison();

    backend::Mismatch found = buffer->compare(
        0, type, pattern,
        model::expectation_for(Collective::all_reduce, ReduceOp::sum, 0, k_count, 0, 2));

    CHECK(found.wrong == k_count);
    CHECK(found.first == 0);
  }
}

TEST_CASE("a byte that is no longer poison is found, at any alignment") {
  NCCLPROBE_NEEDS_GPUS(1);
  OneGpu gpu;
  auto buffer = gpu.device->allocate(k_count);
  buffer->poison();
  const std::array<std::byte, 2> stray{std::byte{0xFE}, std::byte{0x00}};
  for (std::uint64_t at : {std::uint64_t{3}, std::uint64_t{50'001}, k_count - 3}) {
    buffer->write(at, stray);

    backend::Mismatch found = buffer->compare_poison(1, k_count - 1);

    INFO(at);
    CHECK(found.elements == k_count - 1);
    CHECK(found.wrong == 2);
    CHECK(found.first == at - 1);
    CHECK(found.first_bits == 0xFE);
    CHECK(buffer->compare_poison(0, at).wrong == 0);
    CHECK(buffer->compare_poison(at + 2, k_count - at - 2).wrong == 0);
    buffer->poison_bytes(at, 2);
  }
  CHECK(buffer->compare_poison(0, k_count).wrong == 0);
  CHECK(buffer->compare_poison(k_count, 0).elements == 0);
}

TEST_CASE("an average may be two units in the last place off, and not three") {
  NCCLPROBE_NEEDS_GPUS(1);
  OneGpu gpu;
  model::Pattern pattern =
      model::pattern_for(4, Collective::all_reduce, DataType::f32, ReduceOp::avg, 3);
  model::Expectation expected =
      model::expectation_for(Collective::all_reduce, ReduceOp::avg, 0, 1, 0, 3);
  auto buffer = gpu.device->allocate(4);
  std::uint64_t exact = model::encode(DataType::f32, expected.number(pattern, DataType::f32, 0));

  write_element(*buffer, 0, DataType::f32, exact + 2);
  std::uint64_t wrong_at_two = buffer->compare(0, DataType::f32, pattern, expected).wrong;
  write_element(*buffer, 0, DataType::f32, exact + 3);
  std::uint64_t wrong_at_three = buffer->compare(0, DataType::f32, pattern, expected).wrong;

  CHECK(wrong_at_two == 0);
  CHECK(wrong_at_three == 1);
}

TEST_CASE("more memory than there is, is unavailable and names what was asked") {
  NCCLPROBE_NEEDS_GPUS(1);
  OneGpu gpu;
  constexpr std::uint64_t asked = std::uint64_t{1} << 50;
  try {
    (void)gpu.device->allocate(asked);
    FAIL("a petabyte was allocated");
  } catch (const base::Exception& error) {
    CHECK(error.error().code == base::Errc::unavailable);
    CHECK_THAT(error.what(), ContainsSubstring(std::to_string(asked >> 20) + " MiB"));
  }
  CHECK(gpu.device->allocate(1024)->size_bytes() == 1024); // and the GPU still works
}

TEST_CASE(
    "elements off their alignment or outside of the buffer are refused, and the GPU survives") {
  NCCLPROBE_NEEDS_GPUS(1);
  OneGpu gpu;
  auto buffer = gpu.device->allocate(64);
  model::Pattern pattern =
      model::pattern_for(1, Collective::broadcast, DataType::f32, ReduceOp::sum, 1);

  CHECK_THROWS_AS(buffer->fill(2, DataType::f32, pattern, 0, 1), base::Exception);
  CHECK_THROWS_AS(buffer->fill(0, DataType::f32, pattern, 0, 17), base::Exception);
  CHECK_THROWS_AS(buffer->fill(68, DataType::f32, pattern, 0, 0), base::Exception);
  std::byte one{};
  CHECK_THROWS_AS(buffer->read(64, {&one, 1}), base::Exception);
  buffer->fill(4, DataType::f32, pattern, 0, 15);
  CHECK(buffer
            ->compare(4, DataType::f32, pattern,
                      model::expectation_for(Collective::broadcast, ReduceOp::sum, 0, 15, 0, 1))
            .wrong == 0);
}

TEST_CASE("a buffer of no bytes can be poisoned, filled and compared") {
  NCCLPROBE_NEEDS_GPUS(1);
  OneGpu gpu;
  auto buffer = gpu.device->allocate(0);
  model::Pattern pattern =
      model::pattern_for(1, Collective::broadcast, DataType::f32, ReduceOp::sum, 1);

  buffer->poison();
  buffer->fill(0, DataType::f32, pattern, 0, 0);

  CHECK(buffer->compare(0, DataType::f32, pattern, model::Expectation{}).elements == 0);
}
