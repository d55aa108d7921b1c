// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// What supervisors do about the traces of a trial: compare clocks, store their parts, and bring
// them to the leader.
#include "launch/supervisor/supervisor_impl.h"
#include "model/document.h"

#include <algorithm>
#include <numeric>
#include <thread>

namespace ncclprobe::launch {
namespace {

using namespace std::chrono_literals;

// How long the leader waits for the others to store their part of a trace; then the run continues
// without it.
constexpr auto k_storing_patience = 300s;
// How long it waits for one that sends no heartbeats. They compare clocks in between, and all of
// them wait for a while if one is missing.
constexpr auto k_storing_silence = 12s;

// Before a traced trial, and after it.
constexpr int k_clock_readings = 3;
constexpr auto k_between_clock_readings = 20ms;

} // namespace

// All supervisors do this at the same time and equally often. The readings of supervisors of one
// host, which share a clock, check the method. Several readings are taken, because a line fits any
// two exactly and would not show their error.
void Supervisor::Impl::read_clock() {
  for (int i = 0; i < k_clock_readings; ++i) {
    if (i > 0)
      std::this_thread::sleep_for(k_between_clock_readings);
    if (auto reading = fleet.compare_clocks()) {
      clock.push_back(*reading);
      continue;
    }
    spdlog::warn("supervisor {} could not compare its clock with the leader's", fleet.rank());
    send_heartbeat(); // it may have taken long
  }
}

// The files that this supervisor made of its part of the trace.
std::vector<std::string> Supervisor::Impl::keep_trace(const std::string& spec) {
  auto parsed = model::parse_json<model::TrialSpec>(spec);
  read_clock();
  return parsed && options.on_trace ? options.on_trace(*parsed, clock, [this] { send_heartbeat(); })
                                    : std::vector<std::string>();
}

void Supervisor::Impl::send_heartbeat() {
  if (fleet.rank() != k_leader)
    tell_leader(k_whole_run, Heartbeat{});
  else if (fleet.size() > 1)
    tell({1, fleet.size()}, k_whole_run, Heartbeat{});
}

std::string Supervisor::Impl::host_of(int supervisor) const {
  auto placement = std::ranges::find(layout.placements, supervisor, &RankPlacement::supervisor);
  std::string name = placement == layout.placements.end() ? "" : layout.host_name(*placement);
  return name.empty() ? fmt::format("the host of supervisor {}", supervisor) : name;
}

bool Supervisor::Impl::storing(int supervisor) const {
  return !traces_stored.contains(supervisor) || fetch.waits_for(supervisor);
}

// Leader only: all supervisors store their part of the trace, and parts on other disks are copied
// here. Nothing else happens meanwhile.
void Supervisor::Impl::end_trace(const model::TrialSpec& spec, int number) {
  traces_stored.clear();
  storing_number = number;
  tell_all(number, TraceOver{model::write_json(spec)});
  std::vector<int> left(fleet.size());
  std::iota(left.begin(), left.end(), 0);
  heartbeats.expect();
  base::Deadline until = base::Deadline::after(k_storing_patience);
  bool silent = false;
  while (!left.empty() && !silent && !why_no_more && !until.expired()) {
    turn();
    heartbeats.look();
    std::erase_if(left, [&](int supervisor) { return !storing(supervisor); });
    silent = !left.empty() && std::ranges::all_of(left, [&](int supervisor) {
      return heartbeats.silent(supervisor, k_storing_silence);
    });
  }
  heartbeats.stop_expecting();
  storing_number = 0;
  tell_where_traces_stay(spec);
  if (!silent)
    return;
  std::set<std::string> hosts;
  for (int supervisor : left)
    hosts.insert(host_of(supervisor));
  lost.insert(left.begin(), left.end());
  others_lost = true;
  why_no_more = fmt::format("the supervisors on {} no longer answer", fmt::join(hosts, ", "));
}

void Supervisor::Impl::take_stored(int from, int number, const TraceStored& stored) {
  if (number == storing_number) {
    if (!traces_stored.insert(from).second)
      return; // it came on another way too
    return fetch.begin(from, stored.files);
  }
  if (host_of(from) == host_of(k_leader)) // it is read in place
    return;
  for (const std::string& file : stored.files) // nobody waits for it now
    spdlog::warn("a part of a trace was stored too late and stays on {}: {}", host_of(from), file);
}

// Files are removed there only after they have been copied here.
void Supervisor::Impl::tell_where_traces_stay(const model::TrialSpec& spec) {
  for (const auto& [supervisor, file] : fetch.give_up())
    spdlog::warn("a part of the trace of trial {} was not fetched and stays on {}: {}", spec.id,
                 host_of(supervisor), file);
  std::set<std::string> hosts; // one line per host; files on this host are folded
  for (int supervisor = 0; supervisor < fleet.size(); ++supervisor)
    if (!traces_stored.contains(supervisor) && host_of(supervisor) != host_of(k_leader))
      hosts.insert(host_of(supervisor));
  for (const std::string& host : hosts)
    spdlog::warn("the trace of trial {} was not stored yet on {}: its data stays there in {}",
                 spec.id, host, spec.trace_folder);
}

} // namespace ncclprobe::launch
