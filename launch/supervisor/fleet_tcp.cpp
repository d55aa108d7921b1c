// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/clock.h"
#include "base/log.h"
#include "launch/supervisor/fleet.h"
#include "launch/supervisor/tcp_frames.h"
#include "launch/supervisor/tcp_join.h"
#include "launch/supervisor/tree_fleet.h"
#include "wire/packing.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <deque>
#include <set>
#include <sys/epoll.h>
#include <unistd.h>

// Every supervisor has a connection to rank 0, where they met, and to those next to it in the tree.
// Rank 0 passes on what is for others, so a missing connection costs time only. Clocks are compared
// with rank 0's directly.
namespace ncclprobe::launch {
namespace {

using namespace std::chrono_literals;

constexpr auto k_places_patience = 60s;  // for the first gather; the tree is connected meanwhile
constexpr auto k_parting_patience = 30s; // for the others at the end of the job
constexpr auto k_turn = 20ms;            // longest wait for an event
// How long to wait for late supervisors; shorter than the silence after which one counts as lost.
constexpr auto k_comparison_patience = 3s;
constexpr auto k_one_comparison_patience = 500ms; // at least, of that
// A round trip between idle hosts is shorter. Beyond it somebody has no CPU, and spinning would
// keep it from others.
constexpr auto k_spin = 200us;
// Rank 0 compares with one after the other. With many, each gets fewer pings, so the last one does
// not wait for too long.
constexpr int k_most_pings = 100;
constexpr int k_least_pings = 20;
constexpr int k_pings_of_all = 25'000;

class TcpFleet : public TreeFleet {
public:
  TcpFleet(const EnvJob& job, std::map<int, FrameSocket> peers)
      : TreeFleet(job.rank, job.size, k_fan_out), rank_(job.rank), size_(job.size),
        peers_(std::move(peers)), events_(::epoll_create1(EPOLL_CLOEXEC)) {
    if (!events_)
      raise(Errc::unavailable, "no epoll: {}", std::strerror(errno));
    for (const auto& [rank, socket] : peers_)
      watch(EPOLL_CTL_ADD, rank, socket);
    for (auto& [rank, socket] : peers_)
      take_all(rank, socket);
    gather_places();
  }
  ~TcpFleet() override { leave(); }

  std::string description() const override { return ""; }
  std::optional<ClockReading> compare_clocks() override;
  const std::set<int>& lost() const override { return lost_; }
  void leave() override;
  // Nobody else ends the job: the others see that the connection ends.
  [[noreturn]] void abort(int exit_code) override { std::_Exit(exit_code); }

protected:
  void send(int to, const Bytes& bytes) override { send(to, FrameKind::message, *bytes); }
  std::optional<Arrived> receive() override;
  std::set<int> unsent() override { return unsent_; }
  void wait(PatientSleep&) override { turn(k_turn); }
  bool linked(int rank) const override { return peers_.contains(rank) && !lost_.contains(rank); }
  Network network() const override { return Network::tcp; }

private:
  void gather_places();
  void watch(int operation, int rank, const FrameSocket& socket);
  void send(int to, FrameKind kind, std::string bytes);
  void send_frame(const Frame& frame);
  void take(int peer, Frame frame);
  // Also needed for a new connection: what came in one piece with its welcome causes no event.
  void take_all(int peer, FrameSocket& socket);
  void lose(int peer);
  void turn(std::chrono::milliseconds wait);
  bool deliver_all(std::chrono::nanoseconds patience);
  enum class Wait { spin, sleep };
  std::optional<Frame> wait_for_clock(FrameKind kind, Wait wait, const base::Deadline& until);
  void answer_clock(int child, int comparison, int pings);
  std::optional<ClockReading> ask_clock(int comparison, const base::Deadline& until);

  int rank_;
  int size_;
  std::map<int, FrameSocket> peers_; // without the lost ones
  base::Fd events_;
  std::deque<Arrived> arrived_;
  std::deque<Frame> clock_frames_;
  std::set<int> unsent_; // peers that take no more bytes for now
  std::set<int> lost_;
  int comparisons_ = 0; // of clocks
  bool left_ = false;
};

void TcpFleet::gather_places() {
  const int parent = place_in_tree(rank_, size_, k_fan_out).parent;
  char name[256] = {};
  ::gethostname(name, sizeof name - 1);
  const Place own{name, parent >= 0 && !linked(parent)};
  RankSet alone;
  for (const std::string& one : value_or_throw(all_gather(wire::pack(own), k_places_patience))) {
    auto place = wire::unpack<Place>(one);
    const int rank = static_cast<int>(hosts_.size());
    if (place.alone)
      alone.add(rank, rank + 1);
    hosts_.push_back(std::move(place.host));
  }
  if (rank_ == 0)
    bypass(alone);
}

void TcpFleet::watch(int operation, int rank, const FrameSocket& socket) {
  epoll_event event{};
  event.events = EPOLLIN | (socket.has_unsent() ? EPOLLOUT : 0u);
  event.data.fd = rank;
  if (::epoll_ctl(events_.get(), operation, socket.fd(), &event) != 0)
    raise(Errc::unavailable, "epoll_ctl: {}", std::strerror(errno));
}

// Its socket stays until the next turn, because the caller may be using it.
void TcpFleet::lose(int peer) {
  unsent_.erase(peer);
  lost_.insert(peer);
}

void TcpFleet::send_frame(const Frame& frame) {
  const int peer = rank_ == 0 || linked(frame.to) ? frame.to : 0;
  auto found = peers_.find(peer);
  if (found == peers_.end() || lost_.contains(peer))
    return;
  FrameSocket& socket = found->second;
  socket.enqueue(frame);
  if (unsent_.contains(peer))
    return;
  if (!socket.flush())
    return lose(peer);
  if (socket.has_unsent()) {
    unsent_.insert(peer);
    watch(EPOLL_CTL_MOD, peer, socket);
  }
}

void TcpFleet::send(int to, FrameKind kind, std::string bytes) {
  send_frame({kind, rank_, to, std::move(bytes)});
}

// Only rank 0 can speak for others.
void TcpFleet::take(int peer, Frame frame) {
  if (rank_ == 0 || peer != 0)
    frame.from = peer;
  if (frame.to != rank_) {
    if (rank_ == 0 && frame.kind == FrameKind::message)
      send_frame(frame);
    return;
  }
  switch (frame.kind) {
  case FrameKind::message:
    if (frame.from >= 0 && frame.from < size_)
      arrived_.push_back({frame.from, std::move(frame.bytes)});
    return;
  case FrameKind::clock_here:
  case FrameKind::clock_go:
  case FrameKind::clock_ask:
  case FrameKind::clock_answer:
    clock_frames_.push_back(std::move(frame));
    return;
  default:
    return;
  }
}

void TcpFleet::take_all(int peer, FrameSocket& socket) {
  while (auto frame = socket.next())
    take(peer, std::move(*frame));
}

// Sends and receives what is possible, after waiting for the first event.
void TcpFleet::turn(std::chrono::milliseconds wait) {
  std::erase_if(peers_, [this](const auto& one) { return lost_.contains(one.first); });
  std::array<epoll_event, 64> events{};
  const int count = ::epoll_wait(events_.get(), events.data(), static_cast<int>(events.size()),
                                 static_cast<int>(wait.count()));
  for (int i = 0; i < count; ++i) {
    const int peer = events[static_cast<std::size_t>(i)].data.fd;
    auto found = peers_.find(peer);
    if (found == peers_.end() || lost_.contains(peer))
      continue;
    FrameSocket& socket = found->second;
    bool open = socket.flush();
    if (unsent_.contains(peer) && !socket.has_unsent()) {
      unsent_.erase(peer);
      watch(EPOLL_CTL_MOD, peer, socket);
    }
    open = socket.receive() && open;
    take_all(peer, socket);
    if (!open)
      lose(peer);
  }
}

std::optional<TreeFleet::Arrived> TcpFleet::receive() {
  if (arrived_.empty())
    turn(0ms);
  if (arrived_.empty())
    return std::nullopt;
  Arrived first = std::move(arrived_.front());
  arrived_.pop_front();
  return first;
}

// The time counts from the last progress of anybody.
bool TcpFleet::deliver_all(std::chrono::nanoseconds patience) {
  std::size_t left = unsent_.size();
  base::Deadline until = base::Deadline::after(patience);
  while (!unsent_.empty() && !until.expired()) {
    turn(k_turn);
    if (unsent_.size() < std::exchange(left, unsent_.size()))
      until = base::Deadline::after(patience);
  }
  return unsent_.empty();
}

std::optional<Frame> TcpFleet::wait_for_clock(FrameKind kind, Wait wait,
                                              const base::Deadline& until) {
  const base::Deadline spin = base::Deadline::after(wait == Wait::spin ? k_spin : 0us);
  while (true) {
    while (!clock_frames_.empty()) {
      Frame frame = std::move(clock_frames_.front());
      clock_frames_.pop_front();
      if (frame.kind == kind)
        return frame;
    }
    if (until.expired() || (rank_ != 0 && lost_.contains(0)))
      return std::nullopt;
    turn(spin.expired() ? k_turn : 0ms);
  }
}

// The child asks, because it knows when it sent and received. On a busy host time may run out
// before all pings are answered. Those that were still bound the offset.
std::optional<ClockReading> TcpFleet::ask_clock(int comparison, const base::Deadline& until) {
  send(0, FrameKind::clock_here, wire::pack(ClockTurn{comparison, 0}));
  ClockTurn go;
  do {
    const auto frame = wait_for_clock(FrameKind::clock_go, Wait::sleep, until);
    if (!frame)
      return std::nullopt;
    go = wire::unpack<ClockTurn>(frame->bytes);
  } while (go.comparison != comparison);
  std::vector<ClockPing> answered;
  ClockQuestion question{comparison};
  while (std::ssize(answered) < go.pings) {
    ++question.ping;
    const std::int64_t sent_ns = base::monotonic_ns();
    send(0, FrameKind::clock_ask, wire::pack(question));
    ClockQuestion answer;
    while (!answer.answers(question)) {
      const auto frame = wait_for_clock(FrameKind::clock_answer, Wait::spin, until);
      if (!frame)
        return answered.empty() ? std::nullopt : std::optional(envelope_of(answered));
      answer = wire::unpack<ClockQuestion>(frame->bytes);
    }
    answered.push_back({sent_ns, answer.answered_ns, base::monotonic_ns()});
  }
  return envelope_of(answered);
}

// Spins at first, for short round trips. A question of another child is left over from an earlier
// comparison, and is dropped.
void TcpFleet::answer_clock(int child, int comparison, int pings) {
  send(child, FrameKind::clock_go, wire::pack(ClockTurn{comparison, pings}));
  const base::Deadline until = base::Deadline::after(
      std::max<std::chrono::nanoseconds>(k_one_comparison_patience, k_comparison_patience / size_));
  base::Deadline spin = base::Deadline::after(k_spin);
  std::deque<Frame> others;
  for (int i = 0; i < pings && !lost_.contains(child) && !until.expired();) {
    turn(spin.expired() ? k_turn : 0ms);
    for (; !clock_frames_.empty(); clock_frames_.pop_front()) {
      Frame& frame = clock_frames_.front();
      if (frame.kind == FrameKind::clock_ask && frame.from == child) {
        auto question = wire::unpack<ClockQuestion>(frame.bytes);
        question.answered_ns = base::monotonic_ns();
        send(child, FrameKind::clock_answer, wire::pack(question));
        spin = base::Deadline::after(k_spin);
        ++i;
      } else if (frame.kind == FrameKind::clock_here) {
        others.push_back(std::move(frame));
      }
    }
  }
  clock_frames_.swap(others);
}

std::optional<ClockReading> TcpFleet::compare_clocks() {
  const int comparison = comparisons_++;
  const base::Deadline until = base::Deadline::after(k_comparison_patience);
  if (rank_ != 0)
    return ask_clock(comparison, until);
  const int pings =
      std::clamp(k_pings_of_all / std::max(size_ - 1, 1), k_least_pings, k_most_pings);
  std::deque<Frame> early; // of those who are at the next comparison already
  std::set<int> waiting;
  for (const auto& [rank, socket] : peers_)
    waiting.insert(rank);
  while (!waiting.empty()) {
    const auto frame = wait_for_clock(FrameKind::clock_here, Wait::sleep, until);
    if (!frame)
      break; // they give up as well
    const int theirs = wire::unpack<ClockTurn>(frame->bytes).comparison;
    if (theirs > comparison)
      early.push_back(*frame);
    if (theirs != comparison)
      continue;
    answer_clock(frame->from, comparison, pings);
    waiting.erase(frame->from);
    std::erase_if(waiting, [this](int rank) { return lost_.contains(rank); });
  }
  clock_frames_.insert(clock_frames_.begin(), early.begin(), early.end());
  return ClockReading{base::monotonic_ns(), 0, 0, 0};
}

// The gather waits until nobody has anything more to say.
void TcpFleet::leave() {
  if (std::exchange(left_, true))
    return;
  try {
    (void)deliver_all(alone_ ? 500ms : 2000ms);
    if (!alone_ && size_ > 1)
      if (auto all = all_gather("", k_parting_patience); !all)
        spdlog::error("at the end of the job: {}", all.error().text());
    peers_.clear();
  } catch (const Exception& error) {
    spdlog::error("leaving the job: {}", error.what());
  }
}

} // namespace

Result<std::unique_ptr<Fleet>> make_tcp_fleet(const EnvJob& job) {
  try {
    NCCLPROBE_TRY_ASSIGN(auto peers, join_job(job));
    return std::make_unique<TcpFleet>(job, std::move(peers));
  } catch (const Exception& error) {
    return fail(error.error());
  }
}

} // namespace ncclprobe::launch
