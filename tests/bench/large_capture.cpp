// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "trace/nccl_rows.h"
#include "trace/spool_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <stdexcept>
#include <tuple>
#include <vector>

// Writes the capture of a job of any size, as the profiler plugin does, to measure the cost of its
// report. Its values are synthetic, and the capture says so. Ranks are on nodes of eight, each a
// tensor group; the nodes are two data groups of pipeline stages.
namespace {

using namespace ncclprobe;

constexpr int k_ranks_of_node = 8;
constexpr int k_pipelines = 2; // data-parallel
constexpr int k_micro_batches = 4;
constexpr int k_operations_of_stage = 32; // of a tensor group, in a forward or backward pass
constexpr std::size_t k_rows_of_block = 4096;
constexpr std::int64_t k_clock_every_ns = 1'000'000'000;
constexpr std::uint64_t k_mib = 1 << 20;

struct Shape {
  int ranks = 0;
  std::uint64_t rows = 0; // of each rank, of all tables
  int channels = 0;       // of each operation
  int nodes() const { return ranks / k_ranks_of_node; }
  int stages() const { return std::max(1, nodes() / k_pipelines); }
};

struct Group {
  std::uint64_t hash = 0;
  std::vector<int> ranks;
};

class Rank {
public:
  Rank(const std::filesystem::path& folder, int number, const Shape& shape)
      : channels_(shape.channels), number_(number), random_(static_cast<unsigned>(number + 1)) {
    const std::filesystem::path path = folder / fmt::format("rank-{:05}.spool", number);
    if (!spool_.open(path.string(), trace::k_synthetic_host))
      throw std::runtime_error("cannot write " + path.string());
    spool_.note(number, trace::k_level, "kernels");
    set_boot_id(path, fmt::format("synthetic node {}", number / k_ranks_of_node));
    function_["AllReduce"] = spool_.intern("AllReduce");
    function_["Send"] = spool_.intern("Send");
    function_["Recv"] = spool_.intern("Recv");
    algorithm_ = spool_.intern("RING");
    protocol_ = spool_.intern("SIMPLE");
    type_ = spool_.intern("ncclBfloat16");
    clock();
  }

  std::uint16_t join(const Group& group) {
    trace::CommunicatorRow row;
    row.hash = group.hash;
    row.ranks = static_cast<std::int32_t>(group.ranks.size());
    row.rank =
        static_cast<std::int32_t>(std::ranges::find(group.ranks, number_) - group.ranks.begin());
    row.id = static_cast<std::uint16_t>(communicators_.size());
    spool_.append(number_, row);
    communicators_[group.hash] = row.id;
    return row.id;
  }

  void compute(std::int64_t ns) { now_ns_ += ns + static_cast<std::int64_t>(random_() % 2000); }
  std::int64_t now_ns() const { return now_ns_; }

  void add(const Group& group, trace::NcclKind kind, const char* function, std::uint64_t bytes,
           int peer, std::int64_t end_ns) {
    trace::NcclOperationRow row;
    row.id = ++operations_;
    row.communicator = communicators_.at(group.hash);
    row.kind = kind;
    row.function = function_.at(function);
    row.sequence = sequences_[{group.hash, kind, peer}]++;
    row.count = bytes / 2;
    row.data_type = type_;
    if (kind == trace::NcclKind::collective) {
      row.algorithm = algorithm_;
      row.protocol = protocol_;
    }
    row.peer = peer;
    row.channels = static_cast<std::uint8_t>(channels_);
    row.warps = 16;
    row.enqueue_ns = static_cast<std::uint64_t>(now_ns_ - 9000);
    row.enqueued_ns = static_cast<std::uint64_t>(now_ns_ - 5000);
    operation_rows_.push_back(row);
    for (int channel = 0; channel < channels_; ++channel) {
      trace::NcclChannelRow part;
      part.nccl_operation = row.id;
      part.channel = static_cast<std::uint8_t>(channel);
      part.start_gt = static_cast<std::uint64_t>(now_ns_) + offset_ns() + channel * 32ULL;
      part.stop_gt = static_cast<std::uint64_t>(end_ns) + offset_ns() - channel * 32ULL;
      part.start_ns = static_cast<std::uint64_t>(now_ns_) + 5000 + random_() % 3000;
      part.stop_ns = static_cast<std::uint64_t>(end_ns) + 5000 + random_() % 3000;
      channel_rows_.push_back(part);
    }
    now_ns_ = end_ns;
    if (channel_rows_.size() >= k_rows_of_block)
      flush();
    if (now_ns_ >= next_clock_ns_)
      clock();
  }

  std::uint64_t rows() const {
    return operations_ * (1 + static_cast<std::uint64_t>(channels_)) + communicators_.size();
  }

  void flush() {
    spool_.append<trace::NcclOperationRow>(number_, operation_rows_);
    spool_.append<trace::NcclChannelRow>(number_, channel_rows_);
    operation_rows_.clear();
    channel_rows_.clear();
    if (spool_.error() != 0)
      throw std::runtime_error(std::strerror(spool_.error()));
  }

private:
  std::uint64_t offset_ns() const { return 1'000'000'007ULL * static_cast<unsigned>(number_ + 1); }

  void clock() {
    trace::ClockRow row;
    row.kind = trace::ClockKind::globaltimer;
    row.at_ns = static_cast<std::uint64_t>(now_ns_) + offset_ns();
    row.offset_ns = -static_cast<std::int64_t>(offset_ns());
    row.error_ns = 2000;
    spool_.append(number_, row);
    next_clock_ns_ = now_ns_ + k_clock_every_ns;
  }

  static void set_boot_id(const std::filesystem::path& path, const std::string& boot_id) {
    trace::SpoolHeader header;
    boot_id.copy(header.boot_id.data(), header.boot_id.size() - 1);
    std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(offsetof(trace::SpoolHeader, boot_id));
    file.write(header.boot_id.data(), header.boot_id.size());
    if (!file)
      throw std::runtime_error("cannot write " + path.string());
  }

  int channels_;
  int number_;
  std::minstd_rand random_;
  trace::SpoolWriter spool_;
  std::map<std::string, trace::TextId> function_;
  trace::TextId algorithm_, protocol_, type_;
  std::map<std::uint64_t, std::uint16_t> communicators_; // by hash
  std::map<std::tuple<std::uint64_t, trace::NcclKind, int>, std::uint64_t> sequences_;
  std::vector<trace::NcclOperationRow> operation_rows_;
  std::vector<trace::NcclChannelRow> channel_rows_;
  std::uint32_t operations_ = 0;
  std::int64_t now_ns_ = 10'000'000;
  std::int64_t next_clock_ns_ = 0;
};

class Job {
public:
  Job(const std::filesystem::path& folder, const Shape& shape) : shape_(shape) {
    for (int number = 0; number < shape.ranks; ++number)
      ranks_.push_back(std::make_unique<Rank>(folder, number, shape));
    for (int node = 0; node < shape.nodes(); ++node) {
      std::vector<int> members;
      for (int i = 0; i < k_ranks_of_node; ++i)
        members.push_back(node * k_ranks_of_node + i);
      tensor_.push_back(group(std::move(members)));
    }
    std::vector<int> everyone(static_cast<std::size_t>(shape.ranks));
    std::iota(everyone.begin(), everyone.end(), 0);
    world_ = group(std::move(everyone));
    for (int first = 0; first < k_ranks_of_node * shape.stages(); ++first)
      data_.push_back(group({first, first + k_ranks_of_node * shape.stages()}));
    for (int pipeline = 0; pipeline < k_pipelines; ++pipeline)
      for (int i = 0; i < k_ranks_of_node; ++i) {
        std::vector<int> members;
        for (int stage = 0; stage < shape.stages(); ++stage)
          members.push_back((pipeline * shape.stages() + stage) * k_ranks_of_node + i);
        pipelines_.push_back(group(std::move(members)));
      }
  }

  void run() {
    for (int step = 0; ranks_.front()->rows() < shape_.rows; ++step) {
      for (int batch = 0; batch < k_micro_batches; ++batch)
        for (int stage = 0; stage < shape_.stages(); ++stage)
          pass(stage, stage - 1);
      for (int batch = 0; batch < k_micro_batches; ++batch)
        for (int stage = shape_.stages(); stage-- > 0;)
          pass(stage, stage + 1 < shape_.stages() ? stage + 1 : -1);
      for (std::uint64_t bucket = 1; bucket <= 4; ++bucket)
        for (const Group& one : data_)
          collective(one, 25 * bucket * k_mib);
      collective(world_, 4); // the norm of the gradients
      for (const auto& rank : ranks_)
        rank->compute(3'000'000);
      if (step % 5 == 4) // a late rank
        ranks_.back()->compute(3'000'000);
    }
    for (const auto& rank : ranks_)
      rank->flush();
  }

private:
  Group group(std::vector<int> members) {
    const Group made{0x9e3779b97f4a7c15ULL * ++groups_, std::move(members)};
    for (int rank : made.ranks)
      ranks_[static_cast<std::size_t>(rank)]->join(made);
    return made;
  }
  Rank& rank(int number) { return *ranks_[static_cast<std::size_t>(number)]; }

  void pass(int stage, int from) {
    if (from >= 0)
      for (const Group& one : pipelines_)
        message(one, from, stage);
    for (int i = 0; i < k_operations_of_stage; ++i)
      for (int pipeline = 0; pipeline < k_pipelines; ++pipeline)
        collective(tensor_[static_cast<std::size_t>(pipeline * shape_.stages() + stage)],
                   16 * k_mib);
  }

  void collective(const Group& group, std::uint64_t bytes) {
    std::int64_t last_ns = 0;
    for (int one : group.ranks) {
      rank(one).compute(60'000);
      last_ns = std::max(last_ns, rank(one).now_ns());
    }
    const std::int64_t end_ns = last_ns + transfer_ns(bytes);
    for (int one : group.ranks)
      rank(one).add(group, trace::NcclKind::collective, "AllReduce", bytes, -1, end_ns);
  }

  void message(const Group& group, int from, int to) {
    Rank& sender = rank(group.ranks[static_cast<std::size_t>(from)]);
    Rank& receiver = rank(group.ranks[static_cast<std::size_t>(to)]);
    const std::int64_t end_ns =
        std::max(sender.now_ns(), receiver.now_ns()) + transfer_ns(4 * k_mib);
    sender.add(group, trace::NcclKind::send, "Send", 4 * k_mib, to, end_ns);
    receiver.add(group, trace::NcclKind::receive, "Recv", 4 * k_mib, from, end_ns);
  }

  static std::int64_t transfer_ns(std::uint64_t bytes) {
    return 10'000 + static_cast<std::int64_t>(bytes / 200);
  }

  const Shape shape_;
  std::uint64_t groups_ = 0;
  std::vector<std::unique_ptr<Rank>> ranks_;
  std::vector<Group> tensor_, data_, pipelines_;
  Group world_;
};

std::uint64_t number(const char* text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text, text + std::strlen(text), value);
  if (error != std::errc() || *end != 0 || value < 1)
    throw std::runtime_error(fmt::format("'{}' is no count", text));
  return value;
}

} // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    fmt::print(stderr, "Usage: large_capture FOLDER RANKS ROWS CHANNELS\n"
                       "Writes a synthetic capture with about ROWS rows of each rank.\n");
    return 2;
  }
  try {
    const Shape shape{static_cast<int>(number(argv[2])), number(argv[3]),
                      static_cast<int>(number(argv[4]))};
    if (shape.ranks % (k_ranks_of_node * k_pipelines) != 0 || shape.channels > 64)
      throw std::runtime_error(
          fmt::format("RANKS must be a multiple of {}, and CHANNELS at most 64",
                      k_ranks_of_node * k_pipelines));
    std::filesystem::create_directories(argv[1]);
    Job(argv[1], shape).run();
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "large_capture: {}\n", error.what());
    return 1;
  }
}
