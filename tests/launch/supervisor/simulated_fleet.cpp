// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "simulated_fleet.h"

#include "counted_memory.h"

#include "wire/packing.h"

#include <algorithm>
#include <ctime>
#include <numeric>

namespace ncclprobe::test_launch {

using namespace launch;

std::int64_t cpu_time_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

void SimulatedLinks::send(int to, const Bytes& bytes) {
  SimulatedLinks& other = fleet_.at(to);
  if (dead)
    return;
  ++counts.sent;
  counts.bytes += std::ssize(*bytes);
  if (other.dead)
    return;
  ++other.counts.received;
  other.counts.bytes += std::ssize(*bytes);
  other.arrived.emplace_back(rank(), bytes);
  if (to != 0)
    fleet_.to_run_.push_back(to);
}

std::optional<TreeFleet::Arrived> SimulatedLinks::receive() {
  if (rank() == 0 && arrived.empty() && !fleet_.run_followers())
    fleet_.let_time_pass();
  if (arrived.empty())
    return std::nullopt;
  auto [from, bytes] = std::move(arrived.front());
  arrived.pop_front();
  return Arrived{from, *bytes};
}

std::int64_t SimulatedLinks::now_ns() const {
  return fleet_.now_ns();
}

void ScriptedFollower::take(SimulatedLinks& links, const SupervisorMessage& message,
                            SharedReport& shared) {
  const int rank = links.rank() - 1;
  const int ranks = links.size() - 1;
  auto report = [&](MessageBody body) {
    links.report(make_report(links.rank(), {message.trial, std::move(body)}));
  };
  auto exchange = [&](const char* key, std::string bytes) {
    if (message.trial != shared.trial || key != shared.key) { // the same for all
      wire::Exchange part{key, std::vector<int>(static_cast<std::size_t>(ranks)), {}};
      std::iota(part.members.begin(), part.members.end(), 0);
      shared = {message.trial, key, make_report(0, {message.trial, ExchangePart{part}})};
    }
    Report own = shared.report;
    own.parts[std::move(bytes)] = rank;
    links.report(std::move(own));
  };
  auto exchange_in_group = [&] {
    const int first = rank / groups_of * groups_of;
    wire::Exchange part{fmt::format("group {}", first), {}, {}};
    for (int member = first; member < std::min(first + groups_of, ranks); ++member)
      part.members.push_back(member);
    part.contributions[rank] = rank == first ? std::string(128, 'i') : "";
    report(ExchangePart{std::move(part)});
  };
  auto end = [&] {
    if (std::exchange(reported, true))
      return;
    TrialReport all;
    WorkerReport& worker = all.workers.emplace_back();
    worker.record.ranks = {rank};
    RankReport& of_rank = worker.ranks.emplace_back();
    of_rank.rank = rank;
    of_rank.phase = WorkerPhase::done;
    for (int cell = 0; cell < cells; ++cell)
      for (int i = 0; i < samples; ++i)
        of_rank.results[cell].samples.push_back({rank, i, 20, 1'000'000 + rank});
    report(std::move(all));
  };
  if (std::holds_alternative<TrialOrder>(message.body)) {
    reported = false;
    exchange(wire::k_turn_key, "");
  } else if (auto* whole = std::get_if<ExchangeWhole>(&message.body)) {
    const std::string& key = whole->exchange.key;
    if (key == wire::k_turn_key && groups_of > 0)
      exchange_in_group();
    else if (key == wire::k_turn_key)
      exchange("world", rank == 0 ? std::string(128, 'i') : "");
    else if (key == "world" || key.starts_with("group"))
      exchange(wire::k_measure_key, "");
    else if (key == wire::k_measure_key) {
      report(ProgressNote{1, WorkerPhase::cell});
      report(Finished{});
      exchange(wire::k_leave_key, "");
    } else {
      end();
    }
  } else if (std::holds_alternative<StopOrder>(message.body)) {
    end();
  } else if (std::holds_alternative<HeartbeatRequest>(message.body)) {
    report(Heartbeat{});
  }
}

SimulatedFleet::SimulatedFleet(int supervisors, int fan_out, ScriptedFollower follower) {
  for (int rank = 0; rank < supervisors; ++rank)
    links_.push_back(std::make_unique<SimulatedLinks>(*this, rank, supervisors, fan_out));
  followers_.assign(links_.size(), follower);
}

Layout SimulatedFleet::layout() const {
  Layout layout;
  for (int rank = 0; rank < size() - 1; ++rank)
    layout.placements.push_back({rank, rank + 1, (rank + 1) / 8, rank % 8});
  for (int host = 0; host <= size() / 8; ++host)
    layout.hosts.push_back("node" + std::to_string(host));
  return layout;
}

void SimulatedFleet::take_messages(int rank) {
  SimulatedLinks& links = at(rank);
  while (auto message = links.poll()) {
    if (!follow)
      continue;
    if (message->bytes != last_bytes_) {
      last_ = base::value_or_throw(decode_supervisor_message(message->bytes));
      last_bytes_ = message->bytes;
    }
    followers_[static_cast<std::size_t>(rank)].take(links, last_, shared_);
  }
}

bool SimulatedFleet::run_followers() {
  const Counted nothing(false);
  const std::int64_t since_ns = cpu_time_ns();
  bool any = !to_run_.empty();
  while (!to_run_.empty()) {
    const int rank = to_run_.front();
    to_run_.pop_front();
    if (!at(rank).dead)
      take_messages(rank);
  }
  if (!any) // what is held may be due
    for (int rank = 1; rank < size(); ++rank)
      if (!at(rank).dead)
        take_messages(rank);
  followers_ns_ += cpu_time_ns() - since_ns;
  return any;
}

void SimulatedFleet::reset_counts() {
  for (auto& links : links_)
    links->counts = {};
}

std::int64_t SimulatedFleet::most_messages() const {
  std::int64_t most = 0;
  for (const auto& links : links_)
    most = std::max(most, links->counts.sent + links->counts.received);
  return most;
}

std::int64_t SimulatedFleet::all_messages() const {
  std::int64_t all = 0;
  for (const auto& links : links_)
    all += links->counts.sent;
  return all;
}

} // namespace ncclprobe::test_launch
