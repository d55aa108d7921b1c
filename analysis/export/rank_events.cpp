// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/export/rank_events.h"

#include "trace/nccl_type.h"

#include "base/hash.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <unordered_map>
#include <unordered_set>

namespace ncclprobe::analysis::trace_export {
namespace {

// The order of lines in a rank's part of the picture.
enum class Place {
  span,
  range,
  operation,
  synchronization,
  call,
  nccl,
  proxy,
  network,
  channel,
  stream,
  overhead
};

template <std::size_t N>
std::string_view name_of(const std::array<std::string_view, N>& names, std::size_t value) {
  return value < N ? names[value] : "unknown";
}

constexpr std::array<std::string_view, 7> k_copies{
    "copy",           "copy host to device",  "copy device to host",
    "copy in device", "copy between devices", "copy in host",
    "set memory"};
constexpr std::array<std::string_view, 5> k_synchronizations{"synchronize", "wait for event",
                                                             "stream waits for event",
                                                             "wait for stream", "wait for device"};

constexpr const char* k_collectives = "bytes in flight: collectives";
constexpr const char* k_messages = "bytes in flight: sends and receives";

std::uint64_t flow_id(const base::Hash& hash) {
  return std::max<std::uint64_t>(hash.value(), 1); // 0: no flow
}

class RankPicture {
public:
  RankPicture(const RankRows& rows, const Alignment& alignment, const TextOf& text_of,
              const BytesOf& bytes_of, HostPicture& host)
      : rows_(rows), alignment_(alignment), text_of_(text_of), bytes_of_(bytes_of), host_(host) {
    for (const trace::LongRow& row : rows.long_durations)
      long_durations_[{row.table, row.start_ns}] = row.duration_ns;
    for (const trace::OperationRow& row : rows.operations)
      operations_[row.id] = &row;
    for (const trace::NcclOperationRow& row : rows.nccl_operations) {
      nccl_[row.id] = &row;
      if (row.operation != 0)
        nccl_of_operation_[row.operation].push_back(&row);
    }
    for (const trace::CommunicatorRow& row : rows.communicators)
      communicators_[row.id] = &row;
    find_launch_order();
    add_host();
    add_device();
    add_nccl();
  }

  std::size_t draw(EventSink& sink) {
    std::size_t drawn = 0;
    int& next_id = host_.next_track;
    if (next_id == 1)
      sink.process({host_.process, host_.name.empty() ? "unknown host" : host_.name});
    for (auto& [key, line] : lines_) {
      std::ranges::stable_sort(line.slices, [](const Slice& a, const Slice& b) {
        return a.start_ns != b.start_ns ? a.start_ns < b.start_ns : a.end_ns > b.end_ns;
      });
      int number = 1;
      for (std::vector<Slice>& lane : lanes_of(std::move(line.slices))) {
        std::string name = fmt::format("rank {}: {}", rows_.rank, line.name);
        if (number > 1)
          name = fmt::format("{} ({})", name, number);
        sink.track({host_.process, next_id, name});
        for (Slice& slice : lane)
          slice.track = next_id;
        sink.slices(lane);
        drawn += lane.size();
        ++next_id;
        ++number;
      }
    }
    for (auto& [what, changes] : counters_) {
      std::string name = fmt::format("rank {}: {}", rows_.rank, what);
      std::ranges::stable_sort(changes, {}, &std::pair<std::int64_t, std::int64_t>::first);
      sink.counter({host_.process, next_id, name}, "bytes");
      std::int64_t value = 0;
      for (std::size_t i = 0; i < changes.size(); ++i) {
        value += changes[i].second;
        if (i + 1 == changes.size() || changes[i + 1].first != changes[i].first)
          sink.sample({host_.process, next_id, name, changes[i].first, value});
      }
      ++next_id;
    }
    return drawn;
  }

private:
  struct Line {
    std::string name;
    std::vector<Slice> slices;
  };

  // Partly overlapping slices go to different lines.
  static std::vector<std::vector<Slice>> lanes_of(std::vector<Slice> slices) {
    std::vector<std::vector<Slice>> lanes;
    std::vector<std::vector<std::int64_t>> open; // ends of the open slices in each
    for (Slice& slice : slices) {
      std::size_t lane = 0;
      for (; lane < lanes.size(); ++lane) {
        while (!open[lane].empty() && open[lane].back() <= slice.start_ns)
          open[lane].pop_back();
        if (open[lane].empty() || slice.end_ns <= open[lane].back())
          break;
      }
      if (lane == lanes.size()) {
        lanes.emplace_back();
        open.emplace_back();
      }
      open[lane].push_back(slice.end_ns);
      lanes[lane].push_back(std::move(slice));
    }
    return lanes;
  }

  // Null if it is outside the window, or its time is unknown.
  Slice* add(Place place, std::uint64_t number, const std::string& line_name,
             std::optional<std::int64_t> start, std::optional<std::int64_t> end,
             std::string_view name, const char* category) {
    if (!start || !end)
      return nullptr;
    std::int64_t last = std::max(*start, *end);
    if (*start >= alignment_.until_ns ||
        (last <= alignment_.from_ns && *start < alignment_.from_ns))
      return nullptr;
    Line& line = lines_[{place, number}];
    if (line.name.empty())
      line.name = line_name;
    Slice slice;
    slice.process = host_.process;
    slice.start_ns = std::max<std::int64_t>(*start, 0);
    slice.end_ns = std::max<std::int64_t>(last, 0);
    slice.name = name.empty() ? "unknown" : name;
    slice.category = category;
    line.slices.push_back(std::move(slice));
    return &line.slices.back();
  }
  std::optional<std::int64_t> host(std::uint64_t ns) const { return alignment_.of_host(ns); }

  template <typename Row>
  std::uint64_t end_of(const Row& row) const {
    if (row.duration_ns != trace::k_long_duration)
      return row.start_ns + row.duration_ns;
    auto found = long_durations_.find({Row::k_table, row.start_ns});
    return row.start_ns + (found == long_durations_.end() ? row.duration_ns : found->second);
  }

  void add_host() {
    for (const trace::SpanRow& row : rows_.spans)
      if (Slice* slice = add(Place::span, 0, "host: cells", host(row.start_ns), host(row.end_ns),
                             base::to_string(row.kind), "span"))
        slice->arguments = {{"cell", std::int64_t{row.cell}}, {"batch", std::int64_t{row.batch}}};
    for (const trace::OperationRow& row : rows_.operations)
      if (Slice* slice = add(Place::operation, 0, "host: operations", host(row.start_ns),
                             host(end_of(row)), base::to_string(row.kind), "operation"))
        slice->arguments = {{"operation", std::uint64_t{row.id}},
                            {"cell", std::int64_t{row.cell}},
                            {"batch", std::int64_t{row.batch}},
                            {"iteration", std::uint64_t{row.iteration}},
                            {"index", std::uint64_t{row.index}}};
    for (const trace::RangeRow& row : rows_.ranges)
      if (Slice* slice = add(Place::range, row.thread,
                             fmt::format("NVTX ranges, thread {}", row.thread), host(row.start_ns),
                             host(std::max(row.start_ns, row.end_ns)), text_of_(row.name), "range"))
        if (row.domain.id != 0)
          slice->arguments = {{"domain", text_of_(row.domain)}};
    for (const trace::SynchronizationRow& row : rows_.synchronizations)
      if (Slice* slice =
              add(Place::synchronization, 0, "host: synchronization", host(row.start_ns),
                  host(end_of(row)),
                  name_of(k_synchronizations, static_cast<std::size_t>(row.kind)), "wait"))
        slice->arguments = {{"correlation", std::uint64_t{row.correlation}}};
    for (const trace::ApiRow& row : rows_.calls)
      if (Slice* slice =
              add(Place::call, row.thread, fmt::format("CUDA calls, thread {}", row.thread),
                  host(row.start_ns), host(end_of(row)),
                  row.name.id != 0
                      ? text_of_(row.name)
                      : kept(fmt::format("{} call {}", base::to_string(row.domain), row.function)),
                  "call"))
        slice->arguments = {{"correlation", std::uint64_t{row.correlation}},
                            {"result", std::uint64_t{row.result}}};
    for (const trace::OverheadRow& row : rows_.overheads)
      add(Place::overhead, 0, "cost of tracing", host(row.start_ns), host(end_of(row)),
          text_of_(row.kind), "overhead");
  }

  void add_device() {
    std::map<std::uint16_t, std::string> streams;
    for (const trace::StreamRow& row : rows_.streams)
      streams[row.id] = fmt::format("device {} stream {}{}{}", row.device, row.library_id,
                                    row.name.id == 0 ? "" : " ", text_of_(row.name));
    auto line_of = [&](std::uint16_t stream) {
      auto found = streams.find(stream);
      return found == streams.end() ? fmt::format("stream {}", stream) : found->second;
    };
    for (const trace::KernelRow& row : rows_.kernels) {
      if (row.flags & trace::k_no_times)
        continue;
      bool communicates = (row.flags & trace::k_communication) != 0;
      Slice* slice = add(Place::stream, row.stream, line_of(row.stream), host(row.start_ns),
                         host(end_of(row)), text_of_(row.name),
                         communicates                  ? "communication"
                         : row.flags & trace::k_helper ? "ncclprobe"
                                                       : "compute");
      if (!slice)
        continue;
      slice->arguments = {{"grid", std::uint64_t{row.grid}},
                          {"block", std::uint64_t{row.block}},
                          {"operation", std::uint64_t{row.operation}},
                          {"correlation", std::uint64_t{row.correlation}}};
      if (communicates && row.operation != 0)
        join(*slice, row);
    }
    for (const trace::CopyRow& row : rows_.copies) {
      if (row.flags & trace::k_no_times)
        continue;
      Slice* slice =
          add(Place::stream, row.stream, line_of(row.stream), host(row.start_ns), host(end_of(row)),
              name_of(k_copies, static_cast<std::size_t>(row.kind)), "copy");
      if (!slice)
        continue;
      slice->arguments = {{"bytes", row.bytes}, {"operation", std::uint64_t{row.operation}}};
      count("bytes in flight: copies", *slice, row.bytes);
    }
  }

  // The communication kernels of each operation in the order in which the host launched them, which
  // is the order of NCCL's operations.
  void find_launch_order() {
    for (const trace::KernelRow& row : rows_.kernels)
      if (row.flags & trace::k_communication && row.operation != 0)
        kernels_of_operation_[row.operation].push_back(&row);
    for (auto& [operation, kernels] : kernels_of_operation_)
      std::ranges::stable_sort(kernels, {}, &trace::KernelRow::correlation);
  }

  // NCCL's data about the kernel's operation, and the flow to the other ranks' kernels.
  void join(Slice& slice, const trace::KernelRow& kernel) {
    const auto& kernels = kernels_of_operation_.at(kernel.operation);
    auto place = static_cast<std::size_t>(std::ranges::find(kernels, &kernel) - kernels.begin());
    auto nccl = nccl_of_operation_.find(kernel.operation);
    if (nccl != nccl_of_operation_.end() && nccl->second.size() == kernels.size()) {
      const trace::NcclOperationRow& row = *nccl->second[place];
      describe(slice, row);
      count(counter_of(row), slice, bytes_of(row));
      slice.flows = flows_of(row);
      joined_.insert(row.id);
      return;
    }
    if (nccl != nccl_of_operation_.end() && kernels.size() == 1) { // a group is one kernel
      slice.arguments.push_back({"NCCL's operations", std::uint64_t{nccl->second.size()}});
      for (const trace::NcclOperationRow* row : nccl->second) {
        count(counter_of(*row), slice, bytes_of(*row));
        for (std::uint64_t flow : flows_of(*row))
          slice.flows.push_back(flow);
        joined_.insert(row->id);
      }
      return;
    }
    auto found = operations_.find(kernel.operation);
    if (place != 0 || found == operations_.end())
      return;
    const trace::OperationRow& operation = *found->second;
    if (operation.batch >= 0)
      slice.flows = {trace_export::flow_of(operation)};
    count(operation.kind == trace::OperationKind::collective ? k_collectives : k_messages, slice,
          bytes_of_(operation));
  }

  void describe(Slice& slice, const trace::NcclOperationRow& row) {
    for (auto [name, text] : {std::pair{"function", row.function},
                              {"algorithm", row.algorithm},
                              {"protocol", row.protocol},
                              {"data_type", row.data_type}})
      if (text.id != 0)
        slice.arguments.push_back({name, text_of_(text)});
    slice.arguments.push_back({"count", row.count});
    slice.arguments.push_back({"channels", std::uint64_t{row.channels}});
    slice.arguments.push_back({"sequence", row.sequence});
    if (row.kind != trace::NcclKind::collective)
      slice.arguments.push_back({"peer", std::int64_t{row.peer}});
  }

  static const char* counter_of(const trace::NcclOperationRow& row) {
    return row.kind == trace::NcclKind::collective ? k_collectives : k_messages;
  }

  std::uint64_t bytes_of(const trace::NcclOperationRow& row) const {
    return row.count * trace::bytes_of_nccl_type(text_of_(row.data_type));
  }

  // None if the communicator is unknown.
  std::vector<std::uint64_t> flows_of(const trace::NcclOperationRow& row) const {
    auto communicator = communicators_.find(row.communicator);
    if (communicator == communicators_.end())
      return {};
    const auto& [hash, own] = std::pair(communicator->second->hash, communicator->second->rank);
    switch (row.kind) {
    case trace::NcclKind::send:
      return {flow_of_message(hash, own, row.peer, row.sequence)};
    case trace::NcclKind::receive:
      return {flow_of_message(hash, row.peer, own, row.sequence)};
    case trace::NcclKind::collective:
      break;
    }
    return {trace_export::flow_of(hash, text_of_(row.function), row.sequence)};
  }

  // From the first channel's start to the last one's end: a captured job has no other data about a
  // kernel.
  struct Channels {
    std::int64_t start_ns = 0;
    std::int64_t end_ns = 0;
    std::pair<Place, std::uint64_t> line; // of the slice that begins first
    std::size_t slice = 0;
  };

  void add_nccl() {
    std::unordered_map<std::uint32_t, Channels> channels;
    for (const trace::NcclChannelRow& row : rows_.nccl_channels) {
      bool on_device = row.start_gt != 0 && row.stop_gt != 0 && alignment_.of_gpu(row.start_gt);
      auto start = on_device ? alignment_.of_gpu(row.start_gt) : host(row.start_ns);
      auto end =
          on_device ? alignment_.of_gpu(row.stop_gt) : host(std::max(row.start_ns, row.stop_ns));
      auto nccl = nccl_.find(row.nccl_operation);
      if (Slice* slice =
              add(Place::channel, row.channel, fmt::format("NCCL channel {}", row.channel), start,
                  end, nccl == nccl_.end() ? "" : text_of_(nccl->second->function), "channel")) {
        slice->arguments = {{"nccl_operation", std::uint64_t{row.nccl_operation}},
                            {"time of", on_device ? "the GPU" : "the host"}};
        const std::pair place(Place::channel, std::uint64_t{row.channel});
        auto [entry, is_new] = channels.try_emplace(row.nccl_operation);
        Channels& all = entry->second;
        all.end_ns = is_new ? slice->end_ns : std::max(all.end_ns, slice->end_ns);
        if (is_new || slice->start_ns < all.start_ns) {
          all.start_ns = slice->start_ns;
          all.line = place;
          all.slice = lines_.at(place).slices.size() - 1;
        }
      }
    }
    for (const trace::NcclOperationRow& row : rows_.nccl_operations) {
      std::uint64_t end = std::max(row.enqueue_ns, row.enqueued_ns);
      Slice* enqueued = add(Place::nccl, 0, "NCCL: enqueued", host(row.enqueue_ns), host(end),
                            text_of_(row.function), "nccl");
      if (enqueued)
        describe(*enqueued, row);
      if (joined_.contains(row.id)) // a kernel shows it
        continue;
      if (auto found = channels.find(row.id); found != channels.end()) {
        const Channels& all = found->second;
        lines_.at(all.line).slices.at(all.slice).flows = flows_of(row);
        count(counter_of(row), all.start_ns, all.end_ns, bytes_of(row));
      } else if (enqueued) {
        enqueued->flows = flows_of(row);
      }
    }
    for (const trace::NcclStepRow& row : rows_.nccl_steps)
      if (Slice* slice = add(Place::proxy, std::uint64_t{row.channel} << 1 | row.is_send,
                             fmt::format("NCCL proxy: channel {} {}", row.channel,
                                         row.is_send ? "sends" : "receives"),
                             host(row.start_ns), host(std::max(row.start_ns, row.stop_ns)),
                             row.is_send ? "send" : "receive", "proxy")) {
        slice->arguments = {{"peer", std::int64_t{row.peer}},
                            {"step", std::int64_t{row.step}},
                            {"bytes", row.bytes}};
        count("bytes in flight: proxy", *slice, row.bytes);
      }
    for (const trace::NcclNetworkRow& row : rows_.nccl_network)
      if (Slice* slice = add(Place::network, 0, "NCCL: network", host(row.start_ns),
                             host(std::max(row.start_ns, row.stop_ns)),
                             row.kind == trace::NetworkKind::infiniband ? "InfiniBand" : "socket",
                             "network")) {
        slice->arguments = {{"bytes", row.bytes}, {"request", row.request}};
        count("bytes in flight: network", *slice, row.bytes);
      }
  }

  void count(const char* counter, const Slice& slice, std::uint64_t bytes) {
    count(counter, slice.start_ns, slice.end_ns, bytes);
  }
  void count(const char* counter, std::int64_t start_ns, std::int64_t end_ns, std::uint64_t bytes) {
    if (bytes == 0)
      return;
    auto amount = static_cast<std::int64_t>(bytes);
    counters_[counter].emplace_back(start_ns, amount);
    counters_[counter].emplace_back(end_ns, -amount);
  }

  // Names are views; this string outlives them.
  std::string_view kept(std::string name) { return *names_.insert(std::move(name)).first; }

  const RankRows& rows_;
  const Alignment& alignment_;
  const TextOf& text_of_;
  const BytesOf& bytes_of_;
  HostPicture& host_;
  std::map<std::pair<trace::Table, std::uint64_t>, std::uint64_t> long_durations_;
  std::unordered_map<std::uint32_t, const trace::OperationRow*> operations_;
  std::unordered_map<std::uint32_t, const trace::NcclOperationRow*> nccl_;
  std::unordered_map<std::uint32_t, std::vector<const trace::NcclOperationRow*>> nccl_of_operation_;
  std::unordered_map<std::uint16_t, const trace::CommunicatorRow*> communicators_;
  std::unordered_map<std::uint32_t, std::vector<const trace::KernelRow*>> kernels_of_operation_;
  std::unordered_set<std::uint32_t> joined_; // NCCL's operations whose kernel is in the picture
  std::map<std::pair<Place, std::uint64_t>, Line> lines_;
  std::map<std::string, std::vector<std::pair<std::int64_t, std::int64_t>>> counters_; // changes
  std::unordered_set<std::string> names_;
};

} // namespace

std::uint64_t flow_of(std::uint64_t communicator, std::string_view function,
                      std::uint64_t sequence) {
  return flow_id(base::Hash().add(communicator).add(sequence).add(function));
}

std::uint64_t flow_of(const trace::OperationRow& row) {
  return flow_id(base::Hash().add(row.cell).add(row.batch).add(row.iteration).add(row.index));
}

std::uint64_t flow_of_message(std::uint64_t communicator, int from, int to, std::uint64_t number) {
  return flow_id(base::Hash().add(communicator).add(number).add(from).add(to));
}

std::size_t add_rank(const RankRows& rows, const Alignment& alignment, const TextOf& text_of,
                     const BytesOf& bytes_of, HostPicture& host, EventSink& sink) {
  return RankPicture(rows, alignment, text_of, bytes_of, host).draw(sink);
}

} // namespace ncclprobe::analysis::trace_export
