// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// Copies of all kinds, pointer chases, memory of the host and of other processes.
#include "nvidia/factory.h"
#include "nvidia/gpus.h"
#include "support/byte_pattern.h"
#include "support/catch.h"

#include <sys/wait.h>
#include <unistd.h>

using namespace ncclprobe;
using model::CopyMeans;
using model::DataType;

namespace {

constexpr model::Pattern k_pattern = support::k_byte_pattern;

struct Gpus {
  explicit Gpus(int count) : backend(nvidia::make_backend({})) {
    for (int i = 0; i < count; ++i)
      devices.push_back(backend->open_device(i));
  }
  std::unique_ptr<backend::Backend> backend;
  std::vector<std::unique_ptr<backend::Device>> devices;
};

// Elements of `buffer` that are not what rank 0 writes.
std::uint64_t wrong(backend::Buffer& buffer, std::uint64_t offset, std::uint64_t count) {
  auto expected =
      model::expectation_for(model::Collective::broadcast, model::ReduceOp::sum, 0, count, 1, 2);
  return buffer.compare(offset, DataType::u8, k_pattern, expected).wrong;
}

} // namespace

TEST_CASE("bytes arrive whole by every means, at any alignment, driven from either side") {
  NCCLPROBE_NEEDS_GPUS(2);
  Gpus gpus(2);
  for (std::uint64_t bytes : {std::uint64_t{1}, std::uint64_t{15}, std::uint64_t{4096},
                              std::uint64_t{(1 << 20) + 7}, std::uint64_t{64 << 20}})
    for (std::uint64_t offset : {0, 1, 16})
      for (CopyMeans means : {CopyMeans::through_host, CopyMeans::copy_engine, CopyMeans::kernel})
        for (int driver : {0, 1}) {
          INFO(bytes << " bytes at " << offset << ", " << to_string(means) << ", GPU " << driver);
          auto source = gpus.devices[0]->allocate(bytes);
          auto target = gpus.devices[1]->allocate(bytes + 2 * offset);
          source->fill(0, DataType::u8, k_pattern, 0, bytes);
          target->poison();
          auto stream = gpus.devices[static_cast<std::size_t>(driver)]->open_stream(0);

          stream->copy({{*source, 0}, {*target, offset}, bytes, means});
          support::wait_until_idle(*stream);

          CHECK(wrong(*target, offset, bytes) == 0);
          std::vector<std::byte> around(offset);
          target->read(offset + bytes, around);
          CHECK(around == std::vector<std::byte>(offset, std::byte{model::k_poison_byte}));
        }
}

TEST_CASE("one wrong byte in what a kernel copied is found, with its place") {
  NCCLPROBE_NEEDS_GPUS(2);
  Gpus gpus(2);
  constexpr std::uint64_t bytes = 8 << 20;
  auto source = gpus.devices[0]->allocate(bytes);
  auto target = gpus.devices[1]->allocate(bytes);
  source->fill(0, DataType::u8, k_pattern, 0, bytes);
  auto stream = gpus.devices[0]->open_stream(0);
  stream->copy({{*source, 0}, {*target, 0}, bytes, CopyMeans::kernel});
  support::wait_until_idle(*stream);
  std::byte one{};
  target->read(1'234'567, {&one, 1});
  one ^= std::byte{1};

  target->write(1'234'567, {&one, 1});

  auto expected =
      model::expectation_for(model::Collective::broadcast, model::ReduceOp::sum, 0, bytes, 1, 2);
  auto found = target->compare(0, DataType::u8, k_pattern, expected);
  CHECK(found.wrong == 1);
  CHECK(found.first == 1'234'567);
}

TEST_CASE("data goes to memory of the host and back, and is filled and compared there") {
  NCCLPROBE_NEEDS_GPUS(1);
  Gpus gpus(1);
  constexpr std::uint64_t bytes = (1 << 20) + 3;
  for (model::Memory memory : {model::Memory::pinned_host, model::Memory::pageable_host}) {
    INFO(to_string(memory));
    auto first = gpus.devices[0]->allocate_on_host(bytes, memory);
    auto middle = gpus.devices[0]->allocate(bytes);
    auto last = gpus.devices[0]->allocate_on_host(bytes, memory);
    first->fill(0, DataType::u8, k_pattern, 0, bytes);
    last->poison();
    CHECK(wrong(*last, 0, bytes) == bytes);
    auto stream = gpus.devices[0]->open_stream(0);

    stream->copy({{*first, 0}, {*middle, 0}, bytes});
    stream->copy({{*middle, 0}, {*last, 0}, bytes});
    support::wait_until_idle(*stream);

    CHECK(wrong(*middle, 0, bytes) == 0);
    CHECK(wrong(*last, 0, bytes) == 0);
    std::byte damaged{0xFE};
    last->write(77, {&damaged, 1});
    CHECK(wrong(*last, 0, bytes) == 1);
  }
}

TEST_CASE("a GPU's processors do not reach pageable memory: refused before anything runs") {
  NCCLPROBE_NEEDS_GPUS(1);
  Gpus gpus(1);
  auto host = gpus.devices[0]->allocate_on_host(4096, model::Memory::pageable_host);
  auto device = gpus.devices[0]->allocate(4096);
  auto stream = gpus.devices[0]->open_stream(0);

  CHECK_THROWS_WITH(stream->prepare({{*host, 0}, {*device, 0}, 4096, CopyMeans::kernel}),
                    ContainsSubstring("pageable"));
}

namespace {

std::uint64_t chase(backend::Stream& stream, backend::Buffer& through, std::uint64_t bytes,
                    std::uint64_t hops, backend::Buffer& result) {
  constexpr std::uint64_t stride = 128;
  std::vector<std::uint64_t> words(bytes / 8);
  for (std::uint64_t at = 0; at < words.size(); at += stride / 8)
    words[at] = (at * 8 + stride) % bytes;
  through.write(0, std::as_bytes(std::span(words)));
  result.poison();
  stream.chase({{through, 0}, bytes, stride, hops, {result, 0}});
  support::wait_until_idle(stream);
  std::uint64_t position = 0;
  result.read(0, std::as_writable_bytes(std::span(&position, std::size_t{1})));
  return position;
}

} // namespace

TEST_CASE("a pointer chase ends where the chain says, whatever the number of hops") {
  NCCLPROBE_NEEDS_GPUS(1);
  Gpus gpus(1);
  constexpr std::uint64_t bytes = 2 << 20;
  auto own = gpus.devices[0]->allocate(bytes);
  auto host = gpus.devices[0]->allocate_on_host(bytes, model::Memory::pinned_host);
  auto result = gpus.devices[0]->allocate(8);
  auto stream = gpus.devices[0]->open_stream(0);

  for (std::uint64_t hops : {0, 1, 31, 1000, 40'000})
    for (backend::Buffer* through : {own.get(), host.get()})
      CHECK(chase(*stream, *through, bytes, hops, *result) == hops * 128 % bytes);
}

TEST_CASE("a pointer chase through another GPU's memory is slower than through its own") {
  NCCLPROBE_NEEDS_GPUS(2);
  Gpus gpus(2);
  constexpr std::uint64_t bytes = 2 << 20;
  constexpr std::uint64_t hops = 32 * 512;
  auto own = gpus.devices[0]->allocate(bytes);
  auto other = gpus.devices[1]->allocate(bytes);
  auto result = gpus.devices[0]->allocate(8);
  auto stream = gpus.devices[0]->open_stream(0);
  auto begin = gpus.devices[0]->create_event(backend::EventUse::time);
  auto end = gpus.devices[0]->create_event(backend::EventUse::time);
  auto hop_ns = [&](backend::Buffer& through) {
    CHECK(chase(*stream, through, bytes, hops, *result) == hops * 128 % bytes);
    stream->record(*begin);
    stream->chase({{through, 0}, bytes, 128, hops, {*result, 0}});
    stream->record(*end);
    support::wait_until_idle(*stream);
    return static_cast<double>(gpus.devices[0]->elapsed_ns(*begin, *end)) / hops;
  };

  double own_ns = hop_ns(*own);
  double other_ns = hop_ns(*other);

  CHECK(own_ns > 50);
  CHECK(other_ns > 1.3 * own_ns);
  CHECK(other_ns < 20'000);
}

TEST_CASE("memory of another process is mapped and copied from, by engine and by kernel") {
  NCCLPROBE_NEEDS_GPUS(1); // two processes may use the same one
  constexpr std::uint64_t bytes = 1 << 20;
  int to_child[2];
  int to_parent[2];
  REQUIRE(pipe(to_child) == 0);
  REQUIRE(pipe(to_parent) == 0);
  // CUDA does not survive a fork: the other process is this program, started anew.
  pid_t child = fork();
  if (child == 0) {
    dup2(to_child[0], 3);
    dup2(to_parent[1], 4);
    closefrom(5); // its own copy of the end that it reads from would keep that open
    execl("/proc/self/exe", "test_nvidia_gpu", "[.owner of shared memory]", nullptr);
    _exit(99);
  }
  close(to_child[0]);
  close(to_parent[1]);
  std::string handle(128, '\0');
  std::size_t got = 0;
  while (got < handle.size()) {
    ssize_t n = read(to_parent[0], handle.data() + got, handle.size() - got);
    if (n <= 0)
      break;
    got += static_cast<std::size_t>(n);
  }
  REQUIRE(got == handle.size());

  Gpus gpus(1);
  auto mapped = gpus.devices[0]->map_shared(handle, bytes);
  auto target = gpus.devices[0]->allocate(bytes);
  auto stream = gpus.devices[0]->open_stream(0);
  for (CopyMeans means : {CopyMeans::copy_engine, CopyMeans::kernel}) {
    target->poison();
    stream->copy({{*mapped, 0}, {*target, 0}, bytes, means});
    support::wait_until_idle(*stream);
    CHECK(wrong(*target, 0, bytes) == 0);
  }

  close(to_child[1]); // now it may go
  int status = -1;
  waitpid(child, &status, 0);
  CHECK(status == 0);
}

TEST_CASE("owner of shared memory", "[.owner of shared memory]") {
  Gpus gpus(1);
  auto buffer = gpus.devices[0]->allocate_shared(1 << 20);
  buffer->fill(0, DataType::u8, k_pattern, 0, 1 << 20);
  std::string handle = buffer->share();
  REQUIRE(write(4, handle.data(), handle.size()) == static_cast<ssize_t>(handle.size()));
  char nothing = 0;
  CHECK(read(3, &nothing, 1) == 0); // until the other one is done
}

TEST_CASE("what is no handle of shared memory is refused") {
  NCCLPROBE_NEEDS_GPUS(1);
  Gpus gpus(1);

  CHECK_THROWS_AS(gpus.devices[0]->map_shared("abc", 4096), base::Exception);
  CHECK_THROWS_AS(gpus.devices[0]->map_shared(std::string(128, '0'), 4096), base::Exception);
}
