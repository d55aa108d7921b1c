// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/supervisor/supervisor.h"

#include "base/units.h"
#include "launch/supervisor/launch_ranks.h"
#include "launch/supervisor/supervisor_impl.h"
#include "model/document.h"
#include "wire/packing.h"

#include <algorithm>
#include <poll.h>
#include <unistd.h>

namespace ncclprobe::launch {
namespace {

using namespace std::chrono_literals;

// How long a follower that was asked to stop waits for its release.
constexpr auto k_leader_patience = 5s;
// How long the leader waits, after others are lost, for the rest to end prepared trials.
constexpr auto k_lost_patience = 5s;
// A turn takes milliseconds. If it takes this long, the process was stopped (SIGSTOP, Ctrl-Z, a
// suspended batch job), and most likely the others too.
constexpr auto k_longest_turn = 2s;

} // namespace

void Supervisor::Impl::take(ReceivedMessage& received, SupervisorMessage message) {
  const int from = received.from;
  received.senders.each([&](int supervisor) {
    heartbeats.heard(supervisor);
    for (auto& [number, one] : leading)
      one.on_heartbeat(supervisor);
  });
  if (from == k_leader && fleet.rank() != k_leader)
    local.on_leader_heard();
  if (std::holds_alternative<Release>(message.body)) {
    released = true;
    local.discard_prepared(Haste::normal, "the run is over");
  } else if (auto* order = std::get_if<TrialOrder>(&message.body)) {
    local.order(message.trial, std::move(order->spec));
  } else if (auto* next = std::get_if<Prepare>(&message.body)) {
    local.prepare(message.trial, std::move(next->spec));
  } else if (auto* stop = std::get_if<StopOrder>(&message.body)) {
    local.stop(message.trial, *stop);
  } else if (auto* delivery = std::get_if<ExchangeWhole>(&message.body)) {
    local.deliver(message.trial, delivery->exchange);
  } else if (std::holds_alternative<CompareClocks>(message.body)) {
    read_clock();
  } else if (auto* trace = std::get_if<TraceOver>(&message.body)) {
    tell_leader(message.trial, TraceStored{keep_trace(trace->spec)});
  } else if (auto* wanted = std::get_if<SendPiece>(&message.body)) {
    post(k_leader, message.trial, files_here.read(*wanted));
  } else if (auto* whole = std::get_if<DropFile>(&message.body)) {
    files_here.drop(*whole);
  } else if (std::holds_alternative<HeartbeatRequest>(message.body)) {
    if (fleet.rank() != k_leader)
      tell_leader(message.trial, Heartbeat{});
    else if (received.direct) { // the tree does not reach it
      fleet.bypass(from);
      post(from, message.trial, Heartbeat{});
    } else
      tell(received.senders, message.trial, Heartbeat{});
  } else {
    take_as_leader(received, std::move(message));
  }
}

LeaderTrial* Supervisor::Impl::find(int number) {
  auto found = leading.find(number);
  return found == leading.end() ? nullptr : &found->second;
}

void Supervisor::Impl::take_as_leader(ReceivedMessage& received, SupervisorMessage message) {
  auto each_sender = [&](auto action) { received.senders.each(action); };
  auto* trouble = std::get_if<Trouble>(&message.body);
  if (trouble != nullptr && message.trial == k_whole_run) {
    why_no_more = trouble->reason;
    interrupted_elsewhere = trouble->kind == Trouble::Kind::interrupted;
    for (auto& [number, one] : leading)
      one.on_trouble({.kind = Trouble::Kind::interrupted, .reason = trouble->reason});
    return;
  }
  if (auto* stored = std::get_if<TraceStored>(&message.body))
    return each_sender([&](int from) { take_stored(from, message.trial, *stored); });
  if (auto* piece = std::get_if<FilePiece>(&message.body))
    return fetch.take(received.from, *piece);
  LeaderTrial* one = find(message.trial);
  if (one == nullptr)
    return;
  if (trouble != nullptr)
    one->on_trouble(std::move(*trouble));
  put_parts_back(message, received.parts);
  if (auto* part = std::get_if<ExchangePart>(&message.body))
    one->on_exchange(std::move(part->exchange));
  if (auto* note = std::get_if<ProgressNote>(&message.body))
    one->on_progress(received.senders, *note);
  if (std::holds_alternative<TrialReport>(message.body))
    while (!received.parts.empty()) { // thousands of reports: never all of them in two forms
      const auto part = received.parts.extract(received.parts.begin());
      part.mapped().each([&](int supervisor) {
        one->on_report(supervisor, wire::unpack<TrialReport>(part.key()));
      });
    }
  if (std::holds_alternative<Finished>(message.body))
    each_sender([&](int from) { one->on_finished(from); });
}

// Signs of life are soon repeated. Thousands of groups may end their exchanges together.
void Supervisor::Impl::tell(const RankSet& supervisors, int number, MessageBody body) {
  const bool passing =
      std::holds_alternative<Heartbeat>(body) || std::holds_alternative<HeartbeatRequest>(body);
  const When when = std::holds_alternative<ExchangeWhole>(body) ? When::soon : When::now;
  fleet.tell(supervisors, number, passing ? Keep::no : Keep::yes, when,
             encode(SupervisorMessage{number, std::move(body)}));
}

void Supervisor::Impl::tell_leader(int number, MessageBody body) {
  fleet.report(make_report(fleet.rank(), {number, std::move(body)}));
}

// On the leader. Whoever is below a silent supervisor is silent too, and is reached without it.
void Supervisor::Impl::bypass_silent() {
  const std::int64_t now_ns = base::monotonic_ns();
  if (now_ns < next_bypass_ns)
    return;
  RankSet silent = RankSet::of(fleet.lost());
  for (const auto& [number, one] : leading)
    silent.add(one.silent_for(options.cut_off_after / 4));
  if (storing_number != 0)
    for (int supervisor = 0; supervisor < fleet.size(); ++supervisor)
      if (storing(supervisor) && heartbeats.silent(supervisor, options.cut_off_after))
        silent.add(supervisor, supervisor + 1);
  next_bypass_ns = now_ns + std::chrono::nanoseconds(options.cut_off_after).count() / 10;
  if (silent.empty())
    return;
  fleet.bypass(silent);
  // Below a lost one may be another lost one. Who is asked now is heard before the next look.
  tell(silent, fleet.last_trial, HeartbeatRequest{});
}

bool Supervisor::Impl::take_messages() {
  bool any = false;
  constexpr int k_most_messages_per_turn = 1000;
  for (int i = 0; i < k_most_messages_per_turn; ++i) {
    std::optional<ReceivedMessage> received = fleet.poll();
    if (!received)
      break;
    any = true;
    if (auto message = decode_supervisor_message(received->bytes))
      take(*received, std::move(*message));
    else
      spdlog::error("from supervisor {}: {}", received->from, message.error().text());
  }
  return any;
}

void Supervisor::Impl::act_on_stop_request() {
  if (stop_requested && !stop_acted_on)
    end_run(Haste::fast); // at once: the launcher gives us less than a second
}

void Supervisor::Impl::end_run(Haste haste) {
  stop_acted_on = true;
  tell_leader(k_whole_run, Trouble{.kind = Trouble::Kind::interrupted, .reason = "interrupted"});
  local.stop_all(haste);
}

// The workers' descriptors wake the loop; only messages must be polled for. The interval is a
// fiftieth of the time waited so far, which costs little CPU time.
int Supervisor::Impl::patience_ms() const {
  if (local.ending())
    return 1;
  bool settling = false;
  bool exchanging = local.waits_for_exchange();
  for (const auto& [number, one] : leading) {
    settling = settling || one.settling();
    exchanging = exchanging || one.waits_for_exchange();
  }
  if (settling)
    return 2;
  if (fleet.size() == 1)
    return 50; // nobody else sends messages, and deadlines need no more precision
  auto waited_ms = static_cast<int>(
      std::min<std::int64_t>((base::monotonic_ns() - last_event_ns) / 1'000'000, 1'000'000));
  if (!exchanging && local.measuring())
    return 20;
  return std::clamp(waited_ms / 50, 1, exchanging ? 5 : 20);
}

void Supervisor::Impl::turn() {
  bool any = take_messages();
  act_on_stop_request();
  std::vector<pollfd> watched{{wake.get(), POLLIN, 0}};
  local.watch(watched);
  const std::int64_t asleep_ns = base::monotonic_ns();
  int ready = ::poll(watched.data(), watched.size(), any ? 0 : patience_ms());
  if (std::chrono::nanoseconds gap(base::monotonic_ns() - asleep_ns); gap > k_longest_turn) {
    spdlog::warn("supervisor {} was paused for {}: all deadlines move by as much", fleet.rank(),
                 base::format_duration(static_cast<double>(gap.count())));
    active.exclude(gap);
  }
  if (ready > 0 || any)
    last_event_ns = base::monotonic_ns();
  if (ready > 0 && watched[0].revents != 0) {
    std::uint64_t count = 0;
    (void)!::read(wake.get(), &count, sizeof count);
  }
  act_on_stop_request();
  if (ready < 0) // interrupted by a signal, so the descriptors' states are unknown
    for (pollfd& entry : watched)
      entry.revents = 0;
  local.serve(watched);
  for (auto& [number, one] : leading) {
    for (int supervisor : fleet.lost())
      one.on_lost(supervisor);
    one.look_at_clock();
  }
  if (fleet.rank() == k_leader && fleet.size() > 1)
    bypass_silent();
}

// A frozen leader would make us wait for ever. A busy one answers or sends heartbeats.
void Supervisor::Impl::watch_leader() {
  leader_lost = leader_lost || fleet.lost().contains(k_leader);
  if (!local.leader_overdue()) {
    heartbeats.stop_expecting();
    return;
  }
  if (heartbeats.request_due()) {
    // If no answer comes, a supervisor in between may be lost. The leader then adopts this one.
    if (heartbeats.silent(k_leader, options.leader_silence / 4))
      post(k_leader, k_whole_run, HeartbeatRequest{});
    else
      tell_leader(k_whole_run, HeartbeatRequest{});
  }
  heartbeats.look();
  leader_lost = leader_lost || heartbeats.silent(k_leader, options.leader_silence);
}

void Supervisor::Impl::begin(const model::TrialSpec& spec) {
  int number = ++fleet.last_trial;
  announced.reset();
  auto [one, fresh] = leading.try_emplace(
      number, spec, layout, fleet.size(), options, active,
      [this, number](const RankSet& to, MessageBody body) { tell(to, number, std::move(body)); });
  one->second.start();
}

void Supervisor::Impl::announce(const model::TrialSpec& spec) {
  if (announced == spec)
    return;
  announced = spec;
  tell_all(fleet.last_trial + 1, Prepare{model::write_json(spec)});
}

// Starts the next trial before this one's processes are gone.
void Supervisor::Impl::begin_ahead(std::span<const model::TrialSpec> upcoming) {
  if (upcoming.empty() || announced != upcoming.front() || stop_requested || why_no_more)
    return;
  begin(upcoming.front());
  if (upcoming.size() > 1)
    announce(upcoming[1]);
}

// Discards trials that were begun ahead.
void Supervisor::Impl::abandon_ahead() {
  for (auto& [number, one] : leading)
    one.on_trouble({.kind = Trouble::Kind::interrupted, .reason = "not wanted any more"});
  // Lost supervisors have been waited for already.
  base::Deadline until =
      others_lost ? base::Deadline::after(k_lost_patience) : base::Deadline::never();
  auto goes_on = [&](const auto& entry) {
    return !entry.second.over() && !entry.second.over_but_for(lost);
  };
  while (!until.expired() && std::ranges::any_of(leading, goes_on))
    turn();
  for (const auto& [number, one] : leading)
    note_losses(one);
  leading.clear();
}

void Supervisor::Impl::note_losses(const LeaderTrial& ended) {
  std::string fatal =
      ended.fleet_broken() ? ended.silent() + " no longer answer" : ended.lost_workers();
  if (ended.fleet_broken()) {
    others_lost = true;
    for (int supervisor = 0; supervisor < fleet.size(); ++supervisor)
      if (!ended.reported().contains(supervisor))
        lost.insert(supervisor);
  }
  if (fatal.empty())
    return;
  why_no_more = std::move(fatal);
}

Supervisor::Supervisor(Fleet& fleet, Layout layout, SupervisorOptions options)
    : impl_(std::make_unique<Impl>(fleet, std::move(layout), std::move(options))) {}

Supervisor::~Supervisor() = default;

model::TrialRecord Supervisor::run(const model::TrialSpec& spec,
                                   std::span<const model::TrialSpec> upcoming) {
  Impl& impl = *impl_;
  impl.rows.reset();
  impl.take_messages(); // somebody may have been interrupted meanwhile
  model::Outcome refused;
  if (impl.stop_requested || impl.why_no_more)
    refused = {model::OutcomeKind::not_run, impl.why_no_more.value_or("interrupted"), {}};
  else if (spec.ranks < 1 || spec.ranks > impl.layout.ranks())
    refused = {
        model::OutcomeKind::failed,
        fmt::format("the trial needs {} ranks, this run has {}", spec.ranks, impl.layout.ranks()),
        {}};
  else if (!spec.launch_ranks.empty() && !has_launch_ranks(spec, impl.layout.ranks()))
    refused = {model::OutcomeKind::failed,
               "the trial's ranks of the launch do not exist, or do not match its number of ranks",
               {}};
  if (!refused.ok()) {
    model::TrialRecord record;
    record.spec = spec;
    record.outcome = refused;
    record.cells.resize(spec.cells.size());
    for (model::CellRecord& cell : record.cells)
      cell.outcome = refused;
    record.started_utc = base::utc_now();
    return record;
  }
  if (!impl.options.prepare)
    upcoming = {};
  bool traced = spec.trace != model::TraceLevel::off;
  if (traced)
    impl.tell_all(impl.fleet.last_trial, CompareClocks{});
  if (!impl.leading.empty() && impl.leading.begin()->second.spec() != spec)
    impl.abandon_ahead();
  if (impl.leading.empty())
    impl.begin(spec);
  auto present = impl.leading.begin();
  if (!upcoming.empty())
    impl.announce(upcoming.front());
  present->second.show_progress_from_now_on();
  while (!present->second.over()) {
    impl.turn();
    if (!traced && impl.leading.size() == 1 && present->second.only_leaving())
      impl.begin_ahead(upcoming);
  }
  impl.note_losses(present->second);
  bool troubled = present->second.troubled();
  model::TrialRecord record = present->second.take_record();
  impl.rows = present->second.take_rows();
  int number = present->first;
  impl.leading.erase(present);
  // The teardown failed: the trial that began meanwhile cannot be trusted, and has measured nothing
  // yet.
  if (troubled)
    impl.abandon_ahead();
  if (traced)
    impl.end_trace(spec, number);
  return record;
}

void Supervisor::keep_rows_in(std::filesystem::path folder) {
  impl_->options.rows_folder = std::move(folder);
}

std::unique_ptr<store::TrialRows> Supervisor::take_rows() {
  return std::move(impl_->rows);
}

void Supervisor::release() {
  Impl& impl = *impl_;
  impl.abandon_ahead();
  impl.tell_all(k_whole_run, Release{});
  while (!impl.released || !impl.local.idle())
    impl.turn();
  impl.local.clean_up();
}

void Supervisor::follow() {
  Impl& impl = *impl_;
  // The leader may have ordered a trial before the stop reached it, and waits for an answer.
  base::Deadline released_by = base::Deadline::never();
  bool stopping = false;
  while (!impl.local.idle() || !(impl.released || released_by.expired())) {
    impl.turn();
    impl.watch_leader();
    if ((impl.local.forgotten() || impl.leader_lost) && !std::exchange(impl.others_lost, true)) {
      impl.stop_requested = stopping = true;
      impl.end_run(Haste::normal); // there is time
      released_by = base::Deadline::after(0s);
    }
    if (impl.stop_requested && !std::exchange(stopping, true))
      released_by = base::Deadline::after(k_leader_patience);
  }
  impl.files_here.remove_empty_folders();
  impl.local.clean_up();
}

void Supervisor::request_stop() {
  impl_->stop_requested = true;
  std::uint64_t one = 1;
  (void)!::write(impl_->wake.get(), &one, sizeof one);
}

std::string Supervisor::why_stopped() const {
  return impl_->why_no_more.value_or(impl_->stop_requested ? "interrupted" : "");
}

bool Supervisor::interrupted() const {
  return impl_->stop_requested || impl_->interrupted_elsewhere;
}

bool Supervisor::others_lost() const {
  return impl_->others_lost;
}

bool Supervisor::stopped() const {
  return impl_->stop_requested || impl_->why_no_more;
}

} // namespace ncclprobe::launch
