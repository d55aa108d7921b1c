// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "plugin/cuda/kernel_rows.h"

#include "plugin/cuda/kernel_name.h"
#include "plugin/cuda/record_values.h"

#include <algorithm>

namespace ncclprobe::plugin {

using trace::CopyKind;

namespace {

constexpr std::size_t k_most_streams = UINT16_MAX - 1;

} // namespace

void KernelRows::decode(std::uint8_t* buffer, std::size_t valid_bytes, std::uint64_t now_ns) {
  cupti::Record* next = nullptr;
  cupti::Result result = cupti::k_success;
  while (valid_bytes > 0 && (result = next_(buffer, valid_bytes, &next)) == cupti::k_success)
    switch (next->kind) {
    case cupti::k_kernel:
      on(*reinterpret_cast<const cupti::KernelRecord*>(next));
      break;
    case cupti::k_copy: {
      const auto& copy = *reinterpret_cast<const cupti::CopyRecord*>(next);
      on_copy(copy, copy_kind(copy.copy_kind), copy.device, copy.device);
      break;
    }
    case cupti::k_peer_copy: {
      const auto& copy = *reinterpret_cast<const cupti::PeerCopyRecord*>(next);
      on_copy(copy, CopyKind::peer, copy.source_device, copy.destination_device);
      break;
    }
    case cupti::k_set: {
      const auto& set = *reinterpret_cast<const cupti::SetRecord*>(next);
      on_copy(set, CopyKind::set, set.device, set.device);
      break;
    }
    default:
      ++losses_.unknown;
    }
  if (result != cupti::k_success && result != cupti::k_no_more_records)
    ++losses_.unknown; // the rest of this buffer cannot be read
  write(now_ns);
}

template <typename Row>
void KernelRows::set_times(int rank, Row& row, std::uint64_t start_ns, std::uint64_t end_ns) {
  if (start_ns == 0 || end_ns < start_ns) {
    row.flags |= trace::k_no_times;
    ++losses_.no_times;
    return;
  }
  row.start_ns = start_ns;
  row.duration_ns = trace::short_duration(end_ns - start_ns);
  if (row.duration_ns == trace::k_long_duration)
    std::get<std::vector<trace::LongRow>>(rows_[rank])
        .push_back({start_ns, end_ns - start_ns, Row::k_table});
}

std::uint16_t KernelRows::stream_of(std::uint32_t context, std::uint32_t stream,
                                    std::uint32_t device) {
  const auto [place, is_new] = streams_.try_emplace({context, stream});
  if (is_new) {
    place->second =
        static_cast<std::uint16_t>(std::min<std::size_t>(streams_.size() - 1, k_most_streams));
    trace::StreamRow row;
    row.id = place->second;
    row.device = static_cast<std::uint16_t>(device);
    row.context = context;
    row.library_id = stream;
    whole_.append(rank_of_(static_cast<int>(device)), row);
  }
  return place->second;
}

void KernelRows::on(const cupti::KernelRecord& record) {
  const auto [place, is_new] = numbers_.try_emplace(record.name, names_.size());
  if (is_new) {
    KernelName name = kernel_name(record.name);
    names_.push_back({std::move(name.text), name.communication, {}});
  }
  const int rank = rank_of_(static_cast<int>(record.device));
  trace::KernelRow row;
  row.name.id = static_cast<std::uint32_t>(place->second); // until it is written
  row.correlation = record.correlation;
  row.graph_node = record.graph_node;
  row.grid = product(record.grid_x, record.grid_y, record.grid_z);
  row.block = product(record.block_x, record.block_y, record.block_z);
  row.shared_bytes = static_cast<std::uint32_t>(record.static_shared_bytes) +
                     static_cast<std::uint32_t>(record.dynamic_shared_bytes);
  row.stream = stream_of(record.context, record.stream, record.device);
  if (names_[place->second].communication)
    row.flags |= trace::k_communication;
  set_times(rank, row, record.start, record.end);
  std::get<std::vector<trace::KernelRow>>(rows_[rank]).push_back(row);
}

template <typename Record>
void KernelRows::on_copy(const Record& record, CopyKind kind, std::uint32_t source,
                         std::uint32_t destination) {
  const int rank = rank_of_(static_cast<int>(record.device));
  trace::CopyRow row;
  row.bytes = record.bytes;
  row.kind = kind;
  row.source_device = static_cast<std::uint8_t>(source);
  row.destination_device = static_cast<std::uint8_t>(destination);
  row.correlation = record.correlation;
  row.graph_node = record.graph_node;
  row.stream = stream_of(record.context, record.stream, record.device);
  set_times(rank, row, record.start, record.end);
  std::get<std::vector<trace::CopyRow>>(rows_[rank]).push_back(row);
}

void KernelRows::write(std::uint64_t now_ns) {
  std::size_t bytes = 0, count = 0;
  for (const auto& [rank, rows] : rows_)
    std::apply(
        [&](const auto&... table) {
          ((bytes += sizeof(trace::BlockHeader) + table.size() * sizeof table[0]), ...);
          ((count += table.size()), ...);
        },
        rows);
  if (count > 0 && !spools_.make_room(bytes, now_ns)) {
    losses_.left_out += count;
    rows_.clear();
    return;
  }
  // Each of the spools that are used in turns has its own texts.
  const bool is_other_spool = std::exchange(texts_of_, spools_.begun()) != spools_.begun();
  if (is_other_spool)
    for (Name& name : names_)
      name.id = {};
  trace::SpoolWriter& spool = spools_.current();
  for (auto& [rank, rows] : rows_) {
    for (trace::KernelRow& row : std::get<std::vector<trace::KernelRow>>(rows)) {
      Name& name = names_[row.name.id];
      if (name.id == trace::TextId{})
        name.id = spool.intern(name.text);
      row.name = name.id;
    }
    spool.take(rank, rows);
  }
}

} // namespace ncclprobe::plugin
