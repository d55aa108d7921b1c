// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/supervisor.h"

#include "base/log.h"
#include "launch/file_fetch.h"
#include "launch/leader_trial.h"
#include "launch/local_trials.h"
#include "model/json.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <poll.h>
#include <set>
#include <sys/eventfd.h>
#include <unistd.h>

namespace ncclprobe::launch {
namespace {

using namespace std::chrono_literals;

constexpr int k_leader = 0;
// What a follower that was asked to stop gives the leader to release it.
constexpr auto k_leader_patience = 5s;
// What the leader gives those that are left, when others are lost, to end what was begun ahead.
constexpr auto k_lost_patience = 5s;

} // namespace

struct Supervisor::Impl {
  Impl(Fleet& fleet_in, Layout layout_in, SupervisorOptions options_in)
      : fleet(fleet_in), layout(std::move(layout_in)), options(std::move(options_in)),
        wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
        local(layout, fleet.rank(), options,
              [this](int number, LetterBody body) { tell(k_leader, number, std::move(body)); }),
        fetch([this](int supervisor, LetterBody body) {
          tell(supervisor, last_number, std::move(body));
        }) {
    adopt_orphans();
  }

  void tell(int supervisor, int number, LetterBody body) {
    fleet.post(supervisor, encode(Letter{number, std::move(body)}));
  }

  // One turn of the event loop: letters, workers, clocks, then a wait for what comes next.
  void turn();
  bool take_letters();
  void take(int from, Letter letter);
  void take_as_leader(int from, Letter letter);
  LeaderTrial* find(int number);
  void begin(const model::TrialSpec& spec);
  void announce(const model::TrialSpec& spec);
  void begin_ahead(std::span<const model::TrialSpec> upcoming);
  void abandon_ahead();
  void note_losses(const LeaderTrial& ended);
  void act_on_stop_request();
  void end_run(Haste haste);
  int patience_ms() const;
  void read_clock();
  std::vector<std::string> keep_trace(const std::string& spec);
  void end_trace(const model::TrialSpec& spec);

  Fleet& fleet;
  Layout layout;
  SupervisorOptions options;
  base::Fd wake;
  std::atomic<bool> stop_requested{false};
  bool stop_acted_on = false;
  bool released = false;
  bool no_more_trials = false; // on the leader
  bool others_lost = false;    // somebody who should have answered did not
  bool interrupted_elsewhere = false;
  std::string why_no_more;
  LocalTrials local;
  std::vector<ClockReading> clock; // against the leader's
  FileSource files_here;

  // The leader's.
  FileFetch fetch;                    // of traces
  std::set<int> traces_stored;        // by whom, of the latest traced trial
  int last_number = 0;                // of the trial ordered last
  std::map<int, LeaderTrial> leading; // by number: the one that run() waits for, the one ahead
  std::optional<model::TrialSpec> announced; // to be prepared for the next number
  std::int64_t last_event_ns = base::monotonic_ns();
};

void Supervisor::Impl::take(int from, Letter letter) {
  if (std::holds_alternative<Release>(letter.body)) {
    released = true;
    local.discard_prepared(Haste::normal, "the run is over");
  } else if (auto* order = std::get_if<TrialOrder>(&letter.body)) {
    local.order(letter.trial, std::move(order->spec));
  } else if (auto* next = std::get_if<Prepare>(&letter.body)) {
    local.prepare(letter.trial, std::move(next->spec));
  } else if (auto* stop = std::get_if<StopOrder>(&letter.body)) {
    local.stop(letter.trial, *stop);
  } else if (auto* delivery = std::get_if<ExchangeWhole>(&letter.body)) {
    local.deliver(letter.trial, delivery->exchange);
  } else if (std::holds_alternative<CompareClocks>(letter.body)) {
    read_clock();
  } else if (auto* trace = std::get_if<TraceOver>(&letter.body)) {
    tell(k_leader, letter.trial, TraceStored{keep_trace(trace->spec)});
  } else if (auto* wanted = std::get_if<SendPiece>(&letter.body)) {
    tell(k_leader, letter.trial, files_here.read(*wanted));
  } else if (auto* whole = std::get_if<DropFile>(&letter.body)) {
    files_here.drop(*whole);
  } else {
    take_as_leader(from, std::move(letter));
  }
}

// All supervisors do this at the same time. Those of one host share a clock, which this shows.
void Supervisor::Impl::read_clock() {
  if (auto reading = fleet.compare_clocks())
    clock.push_back(*reading);
  else
    spdlog::warn("supervisor {} could not compare its clock with the leader's", fleet.rank());
}

// The files that this supervisor made of its part of the trace.
std::vector<std::string> Supervisor::Impl::keep_trace(const std::string& spec) {
  auto parsed = model::parse_json<model::TrialSpec>(spec);
  read_clock();
  return parsed && options.on_trace ? options.on_trace(*parsed, clock) : std::vector<std::string>();
}

// Leader only: all store their part of the trace, what lies on other disks comes here, and nothing
// else happens meanwhile.
void Supervisor::Impl::end_trace(const model::TrialSpec& spec) {
  traces_stored.clear();
  TraceOver trace{model::write_json(spec)};
  for (int supervisor = 0; supervisor < fleet.size(); ++supervisor)
    tell(supervisor, last_number, trace);
  base::Deadline until = base::Deadline::after(k_storing_patience);
  while ((static_cast<int>(traces_stored.size()) < fleet.size() || fetch.waits()) &&
         !no_more_trials && !until.expired())
    turn();
  // An interruption leaves things undone too, which is no error.
  bool failed = until.expired() || others_lost;
  if (failed && fetch.waits())
    spdlog::error("files of the trace of trial {} have not come from all hosts", spec.id);
  fetch.give_up();
  if (failed && static_cast<int>(traces_stored.size()) < fleet.size())
    spdlog::error("{} of {} supervisors have not stored their part of the trace of trial {}",
                  fleet.size() - static_cast<int>(traces_stored.size()), fleet.size(), spec.id);
}

LeaderTrial* Supervisor::Impl::find(int number) {
  auto found = leading.find(number);
  return found == leading.end() ? nullptr : &found->second;
}

void Supervisor::Impl::take_as_leader(int from, Letter letter) {
  auto* trouble = std::get_if<Trouble>(&letter.body);
  if (trouble != nullptr && letter.trial == k_whole_run) {
    no_more_trials = true;
    why_no_more = trouble->reason;
    interrupted_elsewhere = trouble->kind == Trouble::Kind::interrupted;
    for (auto& [number, one] : leading)
      one.on_trouble({Trouble::Kind::interrupted, trouble->reason, {}, "", -1, 0});
    return;
  }
  if (auto* stored = std::get_if<TraceStored>(&letter.body)) {
    traces_stored.insert(from);
    fetch.begin(from, stored->files);
    return;
  }
  if (auto* piece = std::get_if<FilePiece>(&letter.body))
    return fetch.take(from, *piece);
  LeaderTrial* one = find(letter.trial);
  if (one == nullptr)
    return;
  if (trouble != nullptr)
    one->on_trouble(std::move(*trouble));
  if (auto* part = std::get_if<ExchangePart>(&letter.body))
    one->on_exchange(std::move(part->exchange));
  if (auto* note = std::get_if<ProgressNote>(&letter.body))
    one->on_progress(from, std::move(*note));
  if (auto* report = std::get_if<TrialReport>(&letter.body))
    one->on_report(from, std::move(*report));
  if (std::holds_alternative<Finished>(letter.body))
    one->on_finished(from);
}

bool Supervisor::Impl::take_letters() {
  bool any = false;
  constexpr int k_letters_per_turn = 1000;
  for (int i = 0; i < k_letters_per_turn; ++i) {
    std::optional<Mail> mail = fleet.poll();
    if (!mail)
      break;
    any = true;
    if (auto letter = decode_letter(mail->bytes))
      take(mail->from, std::move(*letter));
    else
      spdlog::error("from supervisor {}: {}", mail->from, letter.error().text());
  }
  return any;
}

void Supervisor::Impl::act_on_stop_request() {
  if (stop_requested && !stop_acted_on)
    end_run(Haste::fast); // at once: the launcher gives under a second
}

void Supervisor::Impl::end_run(Haste haste) {
  stop_acted_on = true;
  tell(k_leader, k_whole_run, Trouble{Trouble::Kind::interrupted, "interrupted", {}, "", -1, 0});
  local.stop_all(haste);
}

// The workers' descriptors wake the loop; only letters have to be looked for. How often: as rarely
// as costs little (a fiftieth) on top of what has been waited already.
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
    return 50; // letters come from nobody else; deadlines are not that sharp
  auto waited_ms = static_cast<int>(
      std::min<std::int64_t>((base::monotonic_ns() - last_event_ns) / 1'000'000, 1'000'000));
  if (!exchanging && local.measuring())
    return 20;
  return std::clamp(waited_ms / 50, 1, exchanging ? 5 : 20);
}

void Supervisor::Impl::turn() {
  bool any = take_letters();
  act_on_stop_request();
  std::vector<pollfd> watched{{wake.get(), POLLIN, 0}};
  local.watch(watched);
  int ready = ::poll(watched.data(), watched.size(), any ? 0 : patience_ms());
  if (ready > 0 || any)
    last_event_ns = base::monotonic_ns();
  if (ready > 0 && watched[0].revents != 0) {
    std::uint64_t count = 0;
    (void)!::read(wake.get(), &count, sizeof count);
  }
  act_on_stop_request();
  if (ready < 0) // interrupted by a signal: nothing is known
    for (pollfd& entry : watched)
      entry.revents = 0;
  local.serve(watched);
  for (auto& [number, one] : leading)
    one.look_at_clock();
}

void Supervisor::Impl::begin(const model::TrialSpec& spec) {
  int number = ++last_number;
  announced.reset();
  auto [one, fresh] = leading.try_emplace(number, spec, layout, fleet.size(), options,
                                          [this, number](int supervisor, LetterBody body) {
                                            tell(supervisor, number, std::move(body));
                                          });
  one->second.start();
}

void Supervisor::Impl::announce(const model::TrialSpec& spec) {
  if (announced == spec)
    return;
  announced = spec;
  Prepare next{model::write_json(spec)};
  for (int supervisor = 0; supervisor < fleet.size(); ++supervisor)
    tell(supervisor, last_number + 1, next);
}

// The next trial need not wait until this one's processes are gone.
void Supervisor::Impl::begin_ahead(std::span<const model::TrialSpec> upcoming) {
  if (upcoming.empty() || announced != upcoming.front() || stop_requested || no_more_trials)
    return;
  begin(upcoming.front());
  if (upcoming.size() > 1)
    announce(upcoming[1]);
}

// What was begun ahead is not wanted any more.
void Supervisor::Impl::abandon_ahead() {
  for (auto& [number, one] : leading)
    one.on_trouble({Trouble::Kind::interrupted, "not wanted any more", {}, "", -1, 0});
  // Who is lost was waited for once.
  base::Deadline until =
      others_lost ? base::Deadline::after(k_lost_patience) : base::Deadline::never();
  while (!until.expired() && std::any_of(leading.begin(), leading.end(),
                                         [](const auto& entry) { return !entry.second.over(); }))
    turn();
  for (const auto& [number, one] : leading)
    note_losses(one);
  leading.clear();
}

void Supervisor::Impl::note_losses(const LeaderTrial& ended) {
  std::string fatal =
      ended.fleet_broken() ? ended.silent() + " no longer answer" : ended.lost_workers();
  others_lost = others_lost || ended.fleet_broken();
  if (fatal.empty())
    return;
  no_more_trials = true;
  why_no_more = std::move(fatal);
}

Supervisor::Supervisor(Fleet& fleet, Layout layout, SupervisorOptions options)
    : impl_(std::make_unique<Impl>(fleet, std::move(layout), std::move(options))) {}

Supervisor::~Supervisor() = default;

model::TrialRecord Supervisor::run(const model::TrialSpec& spec,
                                   std::span<const model::TrialSpec> upcoming) {
  Impl& impl = *impl_;
  impl.take_letters(); // somebody may have been interrupted meanwhile
  model::Outcome refused;
  if (impl.stop_requested || impl.no_more_trials)
    refused = {
        model::OutcomeKind::not_run, impl.no_more_trials ? impl.why_no_more : "interrupted", {}};
  else if (spec.ranks < 1 || spec.ranks > impl.layout.ranks())
    refused = {
        model::OutcomeKind::failed,
        fmt::format("the trial wants {} ranks, this run has {}", spec.ranks, impl.layout.ranks()),
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
    for (int supervisor = 0; supervisor < impl.fleet.size(); ++supervisor)
      impl.tell(supervisor, impl.last_number, CompareClocks{});
  if (!impl.leading.empty() && impl.leading.begin()->second.spec() != spec)
    impl.abandon_ahead();
  if (impl.leading.empty())
    impl.begin(spec);
  auto present = impl.leading.begin();
  if (!upcoming.empty())
    impl.announce(upcoming.front());
  present->second.take_the_stage();
  while (!present->second.over()) {
    impl.turn();
    if (impl.leading.size() == 1 && present->second.only_leaving())
      impl.begin_ahead(upcoming);
  }
  impl.note_losses(present->second);
  bool troubled = present->second.troubled();
  model::TrialRecord record = present->second.take_record();
  impl.leading.erase(present);
  // It failed in its teardown: what was begun beside it is not to be trusted, and has measured
  // nothing yet.
  if (troubled)
    impl.abandon_ahead();
  if (traced)
    impl.end_trace(spec);
  return record;
}

void Supervisor::release() {
  Impl& impl = *impl_;
  impl.abandon_ahead();
  for (int supervisor = 0; supervisor < impl.fleet.size(); ++supervisor)
    impl.tell(supervisor, 0, Release{});
  while (!impl.released || !impl.local.idle())
    impl.turn();
  impl.fetch.give_up(); // of a trace that an interruption cut short
  impl.local.clean_up();
}

void Supervisor::follow() {
  Impl& impl = *impl_;
  // The leader may have ordered a trial before it hears of the stop, and waits for an answer.
  base::Deadline released_by = base::Deadline::never();
  bool stopping = false;
  while (!impl.local.idle() || !(impl.released || released_by.expired())) {
    impl.turn();
    if (impl.local.forgotten() && !std::exchange(impl.others_lost, true)) {
      impl.stop_requested = true;
      impl.end_run(Haste::normal); // there is time
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
  return impl_->no_more_trials ? impl_->why_no_more : impl_->stop_requested ? "interrupted" : "";
}

bool Supervisor::interrupted() const {
  return impl_->stop_requested || impl_->interrupted_elsewhere;
}

bool Supervisor::others_lost() const {
  return impl_->others_lost;
}

bool Supervisor::stopped() const {
  return impl_->stop_requested || impl_->no_more_trials;
}

} // namespace ncclprobe::launch
