// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/timeline/channel_times.h"
#include "support/catch.h"

#include <vector>

using namespace ncclprobe;
using analysis::timeline::forget_overwritten;

namespace {

constexpr std::uint32_t k_start_of_ring = 64;
constexpr std::uint64_t k_every_ns = 20'000;

// All-reduces one after the other, on two channels.
struct Trace {
  std::vector<trace::NcclOperationRow> operations;
  std::vector<trace::NcclChannelRow> channels;

  explicit Trace(std::uint32_t count, trace::NcclKind kind = trace::NcclKind::collective) {
    for (std::uint32_t id = 1; id <= count; ++id) {
      trace::NcclOperationRow operation;
      operation.id = id;
      operation.kind = kind;
      operations.push_back(operation);
      for (std::uint8_t channel = 0; channel < 2; ++channel) {
        trace::NcclChannelRow row;
        row.nccl_operation = id;
        row.channel = channel;
        set_times(row, id);
        channels.push_back(row);
      }
    }
  }
  static void set_times(trace::NcclChannelRow& row, std::uint32_t id) {
    row.start_gt = k_every_ns * id;
    row.stop_gt = row.start_gt + 9'000;
  }
  trace::NcclChannelRow& of(std::uint32_t id, std::uint8_t channel) {
    return channels[2 * (id - 1) + channel];
  }
  std::uint64_t forget() { return forget_overwritten(operations, channels); }
};

} // namespace

TEST_CASE("Times in order are each operation's own") {
  Trace trace(300);
  CHECK(trace.forget() == 0);
  CHECK(trace.of(7, 1).start_gt == 7 * k_every_ns);
}

TEST_CASE("Times that the ring's next round has written over are forgotten") {
  Trace trace(300);
  for (std::uint32_t id = 27; id <= 97; ++id)
    Trace::set_times(trace.of(id, 1), id + k_start_of_ring);
  for (std::uint32_t id = 100; id <= 110; ++id)
    Trace::set_times(trace.of(id, 0), id + 2 * k_start_of_ring);
  trace.of(200, 0).stop_gt += k_every_ns * k_start_of_ring; // only the end came too late

  // 34 to 97 are out of order. 27 to 33 look right, because nobody else has the times of 91 to 97.
  // The rows that had those places one round earlier are dropped with them.
  CHECK(trace.forget() == 64 + 33 + 2 * 11 + 2 * 1);

  CHECK(trace.of(27, 1).start_gt == 0);
  CHECK(trace.of(34, 1).start_gt == 0);
  CHECK(trace.of(34, 1).stop_gt == 0);
  CHECK(trace.of(47, 0).start_gt == 47 * k_every_ns);
  CHECK(trace.of(27, 0).start_gt == 27 * k_every_ns);
  CHECK(trace.of(97, 1).start_gt == 0);
  CHECK(trace.of(98, 1).start_gt == 98 * k_every_ns);
  CHECK(trace.of(105, 0).start_gt == 0);
  CHECK(trace.of(200, 0).start_gt == 0);
  CHECK(trace.of(300, 1).start_gt == 300 * k_every_ns);
}

TEST_CASE("Communicators, and sends and receives, have an order of their own") {
  Trace trace(300);
  for (std::uint32_t id = 1; id <= 300; id += 2) { // one that runs ahead of the other
    trace.operations[id - 1].communicator = 1;
    for (std::uint8_t channel = 0; channel < 2; ++channel)
      Trace::set_times(trace.of(id, channel), id + 1'000);
  }
  CHECK(trace.forget() == 0);

  Trace messages(300, trace::NcclKind::send);
  Trace::set_times(messages.of(5, 0), 5 + k_start_of_ring);
  CHECK(messages.forget() == 0);
}

TEST_CASE("What the GPU did not tell is left as it is") {
  Trace trace(100);
  trace.of(3, 0).start_gt = 0;
  trace.channels.emplace_back().nccl_operation = 4'000; // of none
  CHECK(trace.forget() == 0);
}
