// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/supervisor.h"

#include "base/log.h"
#include "launch/leader_trial.h"
#include "launch/local_trial.h"
#include "model/json.h"

#include <algorithm>
#include <atomic>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace ncclprobe::launch {
namespace {

using namespace std::chrono_literals;

constexpr int k_leader = 0;

} // namespace

struct Supervisor::Impl {
  Impl(Fleet& fleet_in, Layout layout_in, SupervisorOptions options_in)
      : fleet(fleet_in), layout(std::move(layout_in)), options(std::move(options_in)),
        wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    adopt_orphans();
  }

  void tell(int supervisor, LetterBody body) {
    fleet.post(supervisor, encode(Letter{trial, std::move(body)}));
  }

  // One turn of the event loop: letters, workers, clocks, then a wait for what comes next.
  void turn();
  bool take_letters();
  void take(int from, Letter letter);
  void begin_local(int number, const std::string& spec);
  void act_on_stop_request();
  int patience_ms() const;

  Fleet& fleet;
  Layout layout;
  SupervisorOptions options;
  base::Fd wake;
  std::atomic<bool> stop_requested{false};
  bool stop_acted_on = false;
  bool released = false;
  bool no_more_trials = false; // on the leader
  std::string why_no_more;
  int trial = 0; // the leader's running number
  std::optional<LocalTrial> local;
  std::optional<LeaderTrial> leading;
  std::int64_t last_event_ns = base::monotonic_ns();
};

void Supervisor::Impl::begin_local(int number, const std::string& spec_json) {
  trial = number;
  auto spec = model::parse_json<model::TrialSpec>(spec_json);
  if (!spec) { // builds that differ; the leader has to hear something
    tell(k_leader, Trouble{Trouble::Kind::failed,
                           fmt::format("supervisor {}: {}", fleet.rank(), spec.error().text()),
                           {},
                           "",
                           -1,
                           0});
    tell(k_leader, TrialReport{});
    return;
  }
  local.emplace(std::move(*spec), layout, fleet.rank(), options,
                [this](LetterBody body) { tell(k_leader, std::move(body)); });
}

void Supervisor::Impl::take(int from, Letter letter) {
  if (std::holds_alternative<Release>(letter.body)) {
    released = true;
    return;
  }
  if (auto* order = std::get_if<TrialOrder>(&letter.body))
    return begin_local(letter.trial, order->spec);
  if (auto* trouble = std::get_if<Trouble>(&letter.body);
      trouble != nullptr && trouble->kind == Trouble::Kind::interrupted) {
    no_more_trials = true;
    why_no_more = trouble->reason;
    if (leading)
      leading->on_trouble(std::move(*trouble));
    return;
  }
  if (letter.trial != trial)
    return;
  if (local) {
    if (auto* stop = std::get_if<StopOrder>(&letter.body))
      return local->stop(stop->haste);
    if (auto* whole = std::get_if<ExchangeWhole>(&letter.body))
      return local->deliver(whole->exchange);
  }
  if (!leading)
    return;
  if (auto* part = std::get_if<ExchangePart>(&letter.body))
    leading->on_exchange(std::move(part->exchange));
  if (auto* trouble = std::get_if<Trouble>(&letter.body))
    leading->on_trouble(std::move(*trouble));
  if (auto* note = std::get_if<ProgressNote>(&letter.body))
    leading->on_progress(from, std::move(*note));
  if (auto* report = std::get_if<TrialReport>(&letter.body))
    leading->on_report(from, std::move(*report));
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
  if (!stop_requested || std::exchange(stop_acted_on, true))
    return;
  tell(k_leader, Trouble{Trouble::Kind::interrupted, "interrupted", {}, "", -1, 0});
  if (local)
    local->stop(Haste::fast); // at once: the launcher gives under a second
}

// The workers' descriptors wake the loop; only letters have to be looked for. How often: as rarely
// as costs little (a fiftieth) on top of what has been waited already.
int Supervisor::Impl::patience_ms() const {
  if (local && local->ending())
    return 1;
  if (leading && leading->settling())
    return 2;
  if (fleet.size() == 1)
    return 50; // letters come from nobody else; deadlines are not that sharp
  auto waited_ms = static_cast<int>(
      std::min<std::int64_t>((base::monotonic_ns() - last_event_ns) / 1'000'000, 1'000'000));
  bool exchanging =
      (local && local->waits_for_exchange()) || (leading && leading->waits_for_exchange());
  if (!exchanging && local && local->measuring())
    return 20;
  return std::clamp(waited_ms / 50, 1, exchanging ? 5 : 20);
}

void Supervisor::Impl::turn() {
  bool any = take_letters();
  act_on_stop_request();
  std::vector<pollfd> watched{{wake.get(), POLLIN, 0}};
  if (local)
    local->watch(watched);
  int ready = ::poll(watched.data(), watched.size(), any ? 0 : patience_ms());
  if (ready > 0 || any)
    last_event_ns = base::monotonic_ns();
  if (ready > 0 && watched[0].revents != 0) {
    std::uint64_t count = 0;
    (void)!::read(wake.get(), &count, sizeof count);
  }
  act_on_stop_request();
  if (local) {
    if (ready < 0) // interrupted by a signal: nothing is known
      for (pollfd& entry : watched)
        entry.revents = 0;
    local->serve(watched);
    if (local->over())
      local.reset();
  }
  if (leading)
    leading->look_at_clock();
}

Supervisor::Supervisor(Fleet& fleet, Layout layout, SupervisorOptions options)
    : impl_(std::make_unique<Impl>(fleet, std::move(layout), std::move(options))) {}

Supervisor::~Supervisor() = default;

model::TrialRecord Supervisor::run(const model::TrialSpec& spec) {
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
  ++impl.trial;
  impl.leading.emplace(
      spec, impl.layout, impl.fleet.size(), impl.options,
      [&impl](int supervisor, LetterBody body) { impl.tell(supervisor, std::move(body)); });
  impl.leading->start();
  while (!impl.leading->over())
    impl.turn();
  if (impl.leading->fleet_broken()) {
    impl.no_more_trials = true;
    impl.why_no_more = "a supervisor no longer answers";
  }
  model::TrialRecord record = impl.leading->take_record();
  impl.leading.reset();
  return record;
}

void Supervisor::release() {
  for (int supervisor = 1; supervisor < impl_->fleet.size(); ++supervisor)
    impl_->tell(supervisor, Release{});
}

void Supervisor::follow() {
  Impl& impl = *impl_;
  while (impl.local || !(impl.released || impl.stop_requested))
    impl.turn();
}

void Supervisor::request_stop() {
  impl_->stop_requested = true;
  std::uint64_t one = 1;
  (void)!::write(impl_->wake.get(), &one, sizeof one);
}

bool Supervisor::stopped() const {
  return impl_->stop_requested || impl_->no_more_trials;
}

} // namespace ncclprobe::launch
