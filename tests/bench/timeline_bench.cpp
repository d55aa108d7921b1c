// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// Makes traces of training steps as raw columns, and analyses them. Run by timeline_bench.py.
//
//   timeline_bench make FOLDER RANKS EVENTS
//   timeline_bench analyse FOLDER RANKS [THREADS]

#include "analysis/timeline/timeline.h"

#include <fmt/core.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <random>

using namespace ncclprobe;
using namespace ncclprobe::analysis::timeline;

namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t k_kernels_of_step = 400; // including 40 of communication and 20 of copies

template <typename T>
void write(const fs::path& path, const std::vector<T>& values) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(values.data()),
             static_cast<std::streamsize>(values.size() * sizeof(T)));
  if (!file)
    throw std::runtime_error("cannot write " + path.string());
}

template <typename T>
std::vector<T> read(const fs::path& path) {
  std::vector<T> values(fs::file_size(path) / sizeof(T));
  std::ifstream file(path, std::ios::binary);
  file.read(reinterpret_cast<char*>(values.data()),
            static_cast<std::streamsize>(values.size() * sizeof(T)));
  if (!file)
    throw std::runtime_error("cannot read " + path.string());
  return values;
}

// Backward passes: consecutive kernels on one stream. Every tenth is followed by a collective on
// another stream, which starts on each rank when its kernel has ended and ends on all ranks
// together.
void make(const fs::path& folder, int ranks, std::size_t events) {
  std::vector<std::mt19937> random;
  std::vector<std::int64_t> compute_free(static_cast<std::size_t>(ranks), 1'000'000);
  std::int64_t network_free = 0;
  std::vector<DeviceColumns> columns(static_cast<std::size_t>(ranks));
  std::vector<std::vector<trace::OperationRow>> operations(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank)
    random.emplace_back(static_cast<unsigned>(rank + 1));
  auto add = [&](std::size_t rank, std::size_t event, std::int64_t start, std::int64_t length,
                 std::uint16_t stream, std::uint8_t flags, trace::OperationKind kind) {
    auto index = static_cast<std::uint16_t>(event % k_kernels_of_step);
    trace::OperationRow row;
    row.id = static_cast<std::uint32_t>(event + 1);
    row.cell = 0;
    row.batch = 0;
    row.iteration = static_cast<std::uint32_t>(event / k_kernels_of_step);
    row.index = index;
    row.stream = stream;
    row.kind = kind;
    row.start_ns = static_cast<std::uint64_t>(start - 20'000);
    row.duration_ns = 3000;
    operations[rank].push_back(row);
    DeviceColumns& to = columns[rank];
    to.start_ns.push_back(static_cast<std::uint64_t>(start));
    to.duration_ns.push_back(static_cast<std::uint32_t>(length));
    to.name.push_back({static_cast<std::uint32_t>(flags != 0 ? 1 : 2 + index % 30)});
    to.operation.push_back(row.id);
    to.correlation.push_back(row.id);
    to.stream.push_back(stream);
    to.flags.push_back(flags);
  };
  std::vector<std::int64_t> starts(static_cast<std::size_t>(ranks));
  for (std::size_t event = 0; event < events; ++event) {
    bool communicates = event % 10 == 9;
    bool copies = event % 20 == 4;
    std::int64_t last = network_free;
    for (std::size_t rank = 0; rank < starts.size(); ++rank) {
      auto noise = static_cast<std::int64_t>(random[rank]() % 2000);
      if (communicates) {
        starts[rank] = std::max(network_free, compute_free[rank] + noise / 4);
        last = std::max(last, starts[rank]);
        continue;
      }
      std::int64_t length = 4000 + 300 * static_cast<std::int64_t>(event % 7) + noise;
      if (rank == 3)
        length += 150; // the slow one
      add(rank, event, compute_free[rank], length, copies ? 2 : 0, 0,
          copies ? trace::OperationKind::copy : trace::OperationKind::compute);
      compute_free[rank] += length + 300;
    }
    if (!communicates)
      continue;
    network_free = last + 30'000;
    for (std::size_t rank = 0; rank < starts.size(); ++rank) {
      add(rank, event, starts[rank], network_free - starts[rank], 1, trace::k_communication,
          trace::OperationKind::collective);
      if (event % k_kernels_of_step == k_kernels_of_step - 1) // the optimiser needs all gradients
        compute_free[rank] = network_free + 2000;
    }
  }
  for (std::size_t rank = 0; rank < starts.size(); ++rank) {
    auto at = [&](const char* column) {
      return folder / fmt::format("rank_{:05}.{}", rank, column);
    };
    write(at("start_ns"), columns[rank].start_ns);
    write(at("duration_ns"), columns[rank].duration_ns);
    write(at("name"), columns[rank].name);
    write(at("operation"), columns[rank].operation);
    write(at("correlation"), columns[rank].correlation);
    write(at("stream"), columns[rank].stream);
    write(at("flags"), columns[rank].flags);
    write(at("operations"), operations[rank]);
  }
}

int report(const fs::path& folder, int ranks, unsigned threads) {
  TraceSource source;
  source.texts = {"", "ncclDevKernel_AllReduce_Sum_f32_RING_LL"};
  for (int i = 0; i < 30; ++i)
    source.texts.push_back(fmt::format("kernel_{}", i));
  for (int rank = 0; rank < ranks; ++rank)
    source.ranks.push_back({rank, "host", {}, {}});
  source.load = [&](int rank, Pass) -> base::Result<RankTrace> {
    auto at = [&](const char* column) {
      return folder / fmt::format("rank_{:05}.{}", rank, column);
    };
    RankTrace trace;
    trace.kernels.start_ns = read<std::uint64_t>(at("start_ns"));
    trace.kernels.duration_ns = read<std::uint32_t>(at("duration_ns"));
    trace.kernels.name = read<trace::TextId>(at("name"));
    trace.kernels.operation = read<std::uint32_t>(at("operation"));
    trace.kernels.correlation = read<std::uint32_t>(at("correlation"));
    trace.kernels.stream = read<std::uint16_t>(at("stream"));
    trace.kernels.flags = read<std::uint8_t>(at("flags"));
    trace.operations = read<trace::OperationRow>(at("operations"));
    return trace;
  };
  auto begin = std::chrono::steady_clock::now();
  auto timeline = analyse(source, {.threads = threads});
  std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  if (!timeline) {
    fmt::print(stderr, "{}\n", timeline.error().text());
    return 1;
  }
  fmt::print("seconds {:.3f}\n", took.count());
  for (std::size_t i = 0; i < timeline->ranks.size(); ++i) {
    const TimeParts& parts = timeline->ranks[i].cells.at(0).parts;
    fmt::print("rank {} {} {} {} {} {}\n", timeline->ranks[i].rank, parts.communication_ns,
               parts.hidden_ns, parts.exposed_wait_ns, parts.exposed_transfer_ns,
               timeline->stragglers.at(0).ranks[i].times_last);
  }
  return 0;
}

} // namespace

int main(int count, char** values) {
  std::vector<std::string> arguments(values + 1, values + count);
  if (arguments.size() < 3 || (arguments[0] == "make" && arguments.size() < 4)) {
    fmt::print(stderr,
               "timeline_bench make FOLDER RANKS EVENTS | analyse FOLDER RANKS [THREADS]\n");
    return 2;
  }
  int ranks = std::stoi(arguments[2]);
  if (arguments[0] == "make") {
    make(arguments[1], ranks, std::stoul(arguments[3]));
    return 0;
  }
  return report(arguments[1], ranks,
                arguments.size() > 3 ? static_cast<unsigned>(std::stoul(arguments[3])) : 2);
}
