// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "backend/task_tracer.h"

#include <map>

namespace ncclprobe::backend {
namespace {

constexpr std::size_t k_most_waiting = 1 << 16; // tasks; written earlier only between cells

} // namespace

std::uint16_t TaskTracer::add_stream(int device, std::string_view name, int priority) {
  std::lock_guard lock(mutex_);
  auto rank = request_.rank_of_device.find(device);
  rank_of_stream_.push_back(rank == request_.rank_of_device.end() ? -1 : rank->second);
  trace::StreamRow row;
  row.id = static_cast<std::uint16_t>(rank_of_stream_.size() - 1);
  row.device = static_cast<std::uint16_t>(device);
  row.library_id = row.id;
  row.priority = priority;
  row.name = request_.spool->intern(name);
  request_.spool->append(rank_of_stream_.back(), row);
  return row.id;
}

void TaskTracer::add(std::uint16_t stream, std::string_view name, std::uint32_t operation,
                     std::int64_t start_ns, std::int64_t end_ns, std::uint8_t flags) {
  trace::KernelRow row;
  row.start_ns = static_cast<std::uint64_t>(start_ns);
  row.name = request_.spool->intern(name);
  row.operation = operation;
  row.stream = stream;
  row.flags = flags;
  std::lock_guard lock(mutex_);
  tasks_.push_back(
      {rank_of_stream_.at(stream), row, static_cast<std::uint64_t>(end_ns - start_ns)});
  ++executed_;
  if (tasks_.size() >= k_most_waiting)
    write();
}

void TaskTracer::write() {
  std::map<int, std::vector<trace::KernelRow>> kernels;
  std::map<int, std::vector<trace::LongRow>> longer;
  for (Task& task : tasks_) {
    if (task.duration_ns >= trace::k_long_duration)
      longer[task.rank].push_back({task.row.start_ns, task.duration_ns, trace::Table::kernel});
    task.row.duration_ns = trace::short_duration(task.duration_ns);
    kernels[task.rank].push_back(task.row);
  }
  tasks_.clear();
  for (const auto& [rank, rows] : kernels)
    request_.spool->append<trace::KernelRow>(rank, rows);
  for (const auto& [rank, rows] : longer)
    request_.spool->append<trace::LongRow>(rank, rows);
}

void TaskTracer::flush() {
  std::lock_guard lock(mutex_);
  write();
}

void TaskTracer::finish() {
  flush();
  std::lock_guard lock(mutex_);
  // The ledger belongs to the process; its first rank writes it.
  int first_rank = request_.rank_of_device.empty() ? -1 : request_.rank_of_device.begin()->second;
  for (auto [kind, count] : {std::pair{trace::LossKind::launches_seen, launched_},
                             {trace::LossKind::kernels_delivered, executed_},
                             {trace::LossKind::file, request_.spool->rows_lost()}})
    if (count > 0)
      request_.spool->append(first_rank, trace::LossRow{count, 0, kind});
}

} // namespace ncclprobe::backend
