// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "plugin/profiler/abi.h"
#include "plugin/profiler/recorder.h"

#include "support/catch.h"

#include <cstring>
#include <dlfcn.h>

using namespace ncclprobe::plugin;

// The interfaces are called as NCCL calls them, on one state for the process: each test checks what
// it adds.
namespace {

// Found as NCCL finds them with NCCL_PROFILER_PLUGIN=STATIC_PLUGIN.
template <typename Profiler>
Profiler* find(const char* name) {
  void* self = dlopen(nullptr, RTLD_NOW | RTLD_LOCAL);
  return static_cast<Profiler*>(dlsym(self, name));
}

struct Opened {
  void* context = nullptr;
  int mask = 0;
};

Opened open_v4(int rank = 3) {
  start_recording();
  Opened opened;
  auto* profiler = find<abi::ProfilerV4>("ncclProfiler_v4");
  REQUIRE(profiler != nullptr);
  REQUIRE(profiler->init(&opened.context, &opened.mask, "world", 77, 1, 8, rank, nullptr) == 0);
  return opened;
}

Record last() {
  auto all = recorded();
  REQUIRE_FALSE(all.empty());
  return all.back();
}

} // namespace

TEST_CASE("nobody records before the worker says so, and NCCL continues without") {
  // Must be the first test of this program: there is no way back.
  if (interface_version() != 0)
    return;
  void* context = &context;
  int mask = 1;
  CHECK(ncclProfiler_v5.init(&context, 1, &mask, nullptr, 1, 2, 0, nullptr) != 0);
  CHECK(context == nullptr);
  CHECK(mask == 1);
}

TEST_CASE("collectives and sends are asked for, nothing else") {
  Opened opened = open_v4();
  CHECK(opened.mask == 0x6);
  CHECK(opened.context != nullptr);
  CHECK(interface_version() == 4);
}

TEST_CASE("version 4 has a type of one byte, and rubbish behind it") {
  Opened opened = open_v4();
  abi::DescriptorV4 descriptor;
  std::memset(&descriptor, 0xAB, sizeof descriptor);
  descriptor.type = 0x2;
  descriptor.collective.function = "AllReduce";
  descriptor.collective.data_type = "ncclFloat32";
  descriptor.collective.algorithm = "RING";
  descriptor.collective.protocol = "LL128";
  descriptor.collective.count = 4096;
  descriptor.collective.channels = 24;
  enter_cell(5);

  void* handle = &descriptor;
  CHECK(ncclProfiler_v4.start_event(opened.context, &handle, &descriptor) == 0);

  CHECK(handle == nullptr);
  Record record = last();
  CHECK(record.function.text() == "AllReduce");
  CHECK(record.data_type.text() == "ncclFloat32");
  CHECK(record.algorithm.text() == "RING");
  CHECK(record.protocol.text() == "LL128");
  CHECK(record.count == 4096);
  CHECK(record.channels == 24);
  CHECK(record.cell == 5);
  CHECK(record.rank == 3); // of the context
  CHECK(record.communicator == 77);
  CHECK(record.communicator_size == 8);
  CHECK(record.peer == -1);
}

TEST_CASE("versions 5 to 7 have a type of eight bytes and the communicator first") {
  start_recording();
  auto [name, version] = GENERATE(std::pair("ncclProfiler_v5", 5), std::pair("ncclProfiler_v6", 6),
                                  std::pair("ncclProfiler_v7", 7));
  auto* profiler = find<abi::ProfilerV5>(name);
  REQUIRE(profiler != nullptr);
  void* context = nullptr;
  int mask = 0;
  REQUIRE(profiler->init(&context, 99, &mask, nullptr, 1, 2, 1, nullptr) == 0);
  CHECK(interface_version() == version);
  abi::DescriptorV5 descriptor{};
  descriptor.type = 0x4;
  descriptor.point_to_point = {"Send", nullptr, "ncclInt8", 1024, 0, 2};
  enter_cell(-1);

  void* handle = &descriptor;
  CHECK(profiler->start_event(context, &handle, &descriptor) == 0);

  CHECK(handle == nullptr);
  Record record = last();
  CHECK(record.function.text() == "Send");
  CHECK(record.algorithm.text().empty());
  CHECK(record.count == 1024);
  CHECK(record.peer == 0);
  CHECK(record.channels == 2);
  CHECK(record.cell == -1);
  CHECK(record.rank == 1);
  CHECK(record.communicator == 99);
}

TEST_CASE("other events are dropped with an empty handle") {
  Opened opened = open_v4();
  std::size_t before = recorded().size();
  abi::DescriptorV5 group{};
  group.type = 0x1;
  abi::DescriptorV5 api{};
  api.type = 0x202; // low byte alone would be a collective

  for (auto* event : {&group, &api}) {
    void* handle = event;
    CHECK(ncclProfiler_v5.start_event(opened.context, &handle, event) == 0);
    CHECK(handle == nullptr);
  }

  CHECK(recorded().size() == before);
  CHECK(ncclProfiler_v5.stop_event(nullptr) == 0);
  CHECK(ncclProfiler_v5.record_event_state(nullptr, 23, nullptr) == 0); // GroupApi has no arguments
  CHECK(ncclProfiler_v5.finalize(opened.context) == 0);
}

TEST_CASE("names that are missing or too long do no harm") {
  Opened opened = open_v4();
  abi::DescriptorV4 descriptor{};
  descriptor.type = 0x2;
  descriptor.collective.function = "AFunctionWithANameOfFarMoreThanTwentyFourLetters";

  void* handle = nullptr;
  CHECK(ncclProfiler_v4.start_event(opened.context, &handle, &descriptor) == 0);

  CHECK(last().function.text() == "AFunctionWithANameOfFar");
  CHECK(last().algorithm.text().empty());
}

TEST_CASE("what does not fit is counted") {
  Opened opened = open_v4();
  abi::DescriptorV4 descriptor{};
  descriptor.type = 0x2;
  void* handle = nullptr;
  for (int i = 0; i < 40'000; ++i)
    ncclProfiler_v4.start_event(opened.context, &handle, &descriptor);

  CHECK(not_recorded() > 0);
  CHECK(recorded().size() == 32768);
}
