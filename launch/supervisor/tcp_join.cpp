// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/supervisor/tcp_join.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/name_ranks.h"
#include "base/sha256.h"
#include "launch/supervisor/fleet.h"
#include "launch/supervisor/no_answer.h"
#include "launch/supervisor/tcp_frames.h"
#include "launch/supervisor/tcp_port.h"
#include "launch/supervisor/tree.h"
#include "wire/packing.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <list>
#include <poll.h>
#include <set>
#include <sys/random.h>
#include <sys/socket.h>
#include <vector>

namespace ncclprobe::launch {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view k_protocol = "ncclprobe supervisors 2";
// How long a connection may take to show who it is. Strangers cost no more than this.
constexpr auto k_hello_patience = 10s;
// Rank 0 stops waiting for others within the patience for joining, and then needs less than this.
constexpr auto k_assembled_patience = 30s;
constexpr auto k_connect_patience = 5s;
constexpr auto k_between_attempts = 200ms;
// Connections that have not joined yet, beyond one for each rank.
constexpr std::size_t k_most_strangers = 64;
constexpr int k_most_warnings = 5;
// For connections of the tree. Every parent serves its children once it has reached its own.
constexpr std::chrono::seconds k_parent_patience{10};
constexpr std::chrono::seconds k_children_patience{15};

std::string make_nonce() {
  std::string nonce(16, '\0');
  if (::getrandom(nonce.data(), nonce.size(), 0) != static_cast<ssize_t>(nonce.size()))
    raise(Errc::io, "the system gives no random number: {}", std::strerror(errno));
  return nonce;
}

// Each side answers the other's nonce, and says which side it is, so no answer can be used again.
std::string proof_of(const EnvJob& job, std::string_view side, const std::string& asked,
                     const std::string& own, int rank) {
  if (job.secret.empty())
    return "";
  return base::hmac_sha256(job.secret, wire::pack(std::string(side)) + wire::pack(asked) +
                                           wire::pack(own) + wire::pack(rank));
}

// In constant time, so that a stranger learns nothing from how long it takes.
bool same_proof(const std::string& a, const std::string& b) {
  unsigned char difference = a.size() == b.size() ? 0 : 1;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    difference = static_cast<unsigned char>(difference | (a[i] ^ b[i]));
  return difference == 0;
}

// Nothing if these bytes are no such value.
template <typename T>
std::optional<T> read_as(const std::string& bytes) {
  try {
    return wire::unpack<T>(bytes);
  } catch (const Exception&) {
    return std::nullopt;
  }
}

std::string place(const EnvJob& job) {
  return fmt::format("{}:{}", job.address, job.port);
}

std::string side_of(int rank) {
  return fmt::format("rank {}", rank);
}

// The sockets of rank 0 while the others join, or of another rank while its children do.
class Assembly {
public:
  Assembly(const EnvJob& job, std::set<int> expected, base::Fd listener)
      : job_(job), expected_(std::move(expected)), listener_(std::move(listener)) {}

  // Errors: unavailable, with those that did not join.
  Result<void> assemble() {
    const base::Deadline until = base::Deadline::after(job_.join_patience);
    while (joined_.size() < expected_.size() && !until.expired())
      turn(until.left_ms(100));
    if (joined_.size() == expected_.size())
      return {};
    return fail(not_all_joined());
  }
  // On rank 0: sends each that has joined why there will be no job, or where its parent listens.
  void answer_all(const Result<void>& assembled) {
    for (auto& [rank, member] : joined_) {
      Assembled answer;
      const int parent = place_in_tree(rank, job_.size, k_fan_out).parent;
      if (!assembled) {
        answer.problem = assembled.error().message;
        answer.hint = assembled.error().hint;
      } else if (parent > 0) {
        answer.address = joined_.at(parent).address;
        answer.port = joined_.at(parent).port;
      }
      member.socket.enqueue({FrameKind::assembled, 0, rank, wire::pack(answer)});
      (void)member.socket.flush();
    }
  }
  std::map<int, FrameSocket> take_joined() {
    std::map<int, FrameSocket> sockets;
    for (auto& [rank, member] : joined_)
      sockets.emplace_hint(sockets.end(), rank, std::move(member.socket));
    joined_.clear();
    return sockets;
  }

private:
  struct Member {
    FrameSocket socket;
    std::string address; // where it listens for its children
    int port = 0;
  };
  struct Stranger {
    FrameSocket socket;
    std::string nonce;
    base::Deadline until;
  };
  using Verdict = std::optional<Frame>;

  void turn(int wait_ms) {
    std::vector<pollfd> watched{{listener_.get(), POLLIN, 0}};
    for (const Stranger& one : strangers_)
      watched.push_back({one.socket.fd(), POLLIN, 0});
    for (const auto& [rank, member] : joined_)
      watched.push_back({member.socket.fd(), POLLRDHUP, 0});
    if (::poll(watched.data(), watched.size(), wait_ms) < 0)
      return;
    auto state = watched.begin() + 1;
    for (auto one = strangers_.begin(); one != strangers_.end(); ++state)
      one = (state->revents != 0 && !serve(*one)) || one->until.expired() ? strangers_.erase(one)
                                                                          : std::next(one);
    // It ended before the others had joined; its launcher may start it again.
    for (auto one = joined_.begin(); state != watched.end(); ++state)
      one = state->revents != 0 ? joined_.erase(one) : std::next(one);
    if (watched.front().revents != 0)
      accept_all();
  }

  void accept_all() {
    while (base::Fd socket{
        ::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)}) {
      if (strangers_.size() >= static_cast<std::size_t>(job_.size) + k_most_strangers)
        strangers_.pop_front(); // the one that has been silent longest
      send_small_frames_at_once(socket);
      Stranger& one = strangers_.emplace_back(Stranger{FrameSocket(std::move(socket)), make_nonce(),
                                                       base::Deadline::after(k_hello_patience)});
      one.socket.enqueue(
          {FrameKind::challenge, 0, 0, wire::pack(Challenge{std::string(k_protocol), one.nonce})});
      (void)one.socket.flush();
    }
  }

  // False if this stranger is done with: it has joined, or was refused, or has gone.
  bool serve(Stranger& one) {
    const bool open = one.socket.receive();
    const std::optional<Frame> frame = one.socket.next();
    if (!frame)
      return open;
    const auto hello =
        frame->kind == FrameKind::hello ? read_as<Hello>(frame->bytes) : std::nullopt;
    Welcome answer;
    answer.problem =
        hello ? problem_with(*hello, one.nonce) : "it is not an ncclprobe of this version";
    if (answer.problem.empty())
      answer.proof = proof_of(job_, side_of(job_.rank), hello->nonce, one.nonce, hello->rank);
    else
      note_refusal(answer.problem);
    one.socket.enqueue({FrameKind::welcome, 0, hello ? hello->rank : 0, wire::pack(answer)});
    if (!one.socket.flush() || !answer.problem.empty())
      return false;
    one.socket.trust();
    joined_.emplace(hello->rank, Member{std::move(one.socket), hello->address, hello->port});
    return false;
  }

  std::string problem_with(const Hello& hello, const std::string& nonce) const {
    if (hello.protocol != k_protocol)
      return "it is an ncclprobe of another version";
    if (!same_proof(hello.proof, proof_of(job_, "other", nonce, hello.nonce, hello.rank)))
      return "its NCCLPROBE_JOB_SECRET is not rank 0's";
    if (hello.job != job_.id)
      return fmt::format("it belongs to the job '{}', and rank 0 to '{}'", hello.job, job_.id);
    if (hello.size != job_.size)
      return fmt::format("its job has {} ranks, and rank 0's has {}", hello.size, job_.size);
    if (!expected_.contains(hello.rank))
      return fmt::format("it claims rank {} of {}", hello.rank, job_.size);
    if (joined_.contains(hello.rank))
      return fmt::format("rank {} has joined already", hello.rank);
    return "";
  }

  void note_refusal(const std::string& problem) {
    last_refusal_ = problem;
    if (++refusals_ <= k_most_warnings)
      spdlog::warn("a process that wanted to join at {} was refused: {}", place(job_), problem);
  }

  Error not_all_joined() const {
    std::vector<int> missing;
    for (int rank : expected_)
      if (!joined_.contains(rank))
        missing.push_back(rank);
    return {Errc::unavailable,
            fmt::format("{} did not join at {} within {} s{}", base::name_ranks(missing),
                        place(job_), job_.join_patience.count(),
                        last_refusal_.empty() ? "" : "; a process was refused: " + last_refusal_),
            "look at the output of these ranks; NCCLPROBE_JOIN_TIMEOUT=SECONDS waits longer"};
  }

  const EnvJob& job_;
  const std::set<int> expected_;
  base::Fd listener_;
  std::list<Stranger> strangers_;
  std::map<int, Member> joined_;
  std::string last_refusal_;
  int refusals_ = 0;
};

// A problem that another attempt may not have, or one that it will have as well.
struct Attempt {
  std::optional<FrameSocket> socket;
  std::string problem;
  bool final = false;
  TreePort own; // for its children, if it joined rank 0
};

bool wait_for(int fd, short events, const base::Deadline& until) {
  pollfd watched{fd, events, 0};
  return ::poll(&watched, 1, until.left_ms(60'000)) > 0;
}

std::optional<Frame> wait_for_frame(FrameSocket& socket, FrameKind kind,
                                    const base::Deadline& until) {
  for (bool open = true; true;) {
    if (auto frame = socket.next()) // it may have come in one piece with the one before
      return frame->kind == kind ? frame : std::nullopt;
    if (!open || until.expired())
      return std::nullopt;
    if (wait_for(socket.fd(), POLLIN, until))
      open = socket.receive();
  }
}

Attempt introduce(const EnvJob& job, int to, base::Fd connected) {
  Attempt attempt;
  FrameSocket socket(std::move(connected));
  auto patience = [&job] {
    return base::Deadline::after(
        std::min<std::chrono::nanoseconds>(k_hello_patience, job.join_patience));
  };
  auto frame = wait_for_frame(socket, FrameKind::challenge, patience());
  const auto challenge = frame ? read_as<Challenge>(frame->bytes) : std::nullopt;
  if (!challenge || challenge->protocol != k_protocol) {
    attempt.problem = "the listener is not an ncclprobe of this version";
    return attempt;
  }
  if (to == 0 && !place_in_tree(job.rank, job.size, k_fan_out).children.empty())
    attempt.own = open_tree_port(socket);
  Hello hello{std::string(k_protocol), job.id,          make_nonce(), "", job.rank, job.size,
              attempt.own.address,     attempt.own.port};
  hello.proof = proof_of(job, "other", challenge->nonce, hello.nonce, job.rank);
  socket.enqueue({FrameKind::hello, job.rank, 0, wire::pack(hello)});
  (void)socket.flush();
  frame = wait_for_frame(socket, FrameKind::welcome, patience());
  const auto welcome = frame ? read_as<Welcome>(frame->bytes) : std::nullopt;
  if (!welcome) {
    attempt.problem = side_of(to) + " does not answer";
    return attempt;
  }
  attempt.final = true;
  if (!welcome->problem.empty())
    attempt.problem = side_of(to) + " refuses this process: " + welcome->problem;
  else if (!same_proof(welcome->proof,
                       proof_of(job, side_of(to), hello.nonce, challenge->nonce, job.rank)))
    attempt.problem = "the listener does not have this rank's NCCLPROBE_JOB_SECRET";
  else
    attempt.socket = std::move(socket);
  if (attempt.socket)
    attempt.socket->trust();
  return attempt;
}

Attempt try_address(const EnvJob& job, int to, const addrinfo& address) {
  base::Fd socket = make_stream(address.ai_family);
  int error = socket ? 0 : errno;
  if (error == 0 && ::connect(socket.get(), address.ai_addr, address.ai_addrlen) != 0)
    error = errno;
  if (error == EINPROGRESS) {
    socklen_t size = sizeof error;
    if (!wait_for(socket.get(), POLLOUT, base::Deadline::after(k_connect_patience)))
      error = ETIMEDOUT;
    else if (::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0)
      error = errno;
  }
  if (error != 0)
    return {std::nullopt, std::strerror(error), false, {}};
  send_small_frames_at_once(socket);
  return introduce(job, to, std::move(socket));
}

Attempt try_to_join(const EnvJob& job, int to) {
  const auto addresses = addresses_of(job);
  if (!addresses)
    return {std::nullopt, addresses.error().message, false, {}};
  Attempt attempt;
  for (const addrinfo* one = addresses->get(); one != nullptr; one = one->ai_next) {
    attempt = try_address(job, to, *one);
    if (attempt.socket || attempt.final)
      break;
  }
  return attempt;
}

// Rank 0 may start later than this one, and its name may be known later still. The result has a
// socket.
Result<Attempt> connect_to(const EnvJob& job, int to) {
  const base::Deadline until = base::Deadline::after(job.join_patience);
  Attempt attempt;
  while (true) {
    attempt = try_to_join(job, to);
    if (attempt.socket)
      return attempt;
    if (attempt.final || until.expired())
      break;
    ::poll(nullptr, 0, static_cast<int>(k_between_attempts / 1ms));
  }
  if (attempt.final)
    return fail(
        Error{Errc::unavailable,
              fmt::format("rank {} cannot join at {}: {}", job.rank, place(job), attempt.problem),
              "start all ranks with the same launcher line"});
  return fail(Error{Errc::unavailable,
                    fmt::format("rank {} did not reach rank {} at {} within {} s: {}", job.rank, to,
                                place(job), job.join_patience.count(), attempt.problem),
                    "MASTER_ADDR must name rank 0's host, and MASTER_PORT a port that is free "
                    "there and open between the hosts; NCCLPROBE_JOIN_TIMEOUT=SECONDS waits "
                    "longer"});
}

Result<Assembled> wait_for_all(const EnvJob& job, FrameSocket& rank_0) {
  const std::chrono::seconds patience = job.join_patience + k_assembled_patience;
  const base::Deadline until = base::Deadline::after(patience);
  const auto frame = wait_for_frame(rank_0, FrameKind::assembled, until);
  auto assembled = frame ? read_as<Assembled>(frame->bytes) : std::nullopt;
  if (!assembled)
    return fail(until.expired() ? no_answer({0}, {}, patience, Network::tcp) : gone({0}, {}));
  if (!assembled->problem.empty())
    return fail(Error{Errc::unavailable, assembled->problem, assembled->hint});
  return std::move(*assembled);
}

Result<FrameSocket> connect_to_parent(const EnvJob& job, int rank, const Assembled& parent) {
  if (parent.port == 0)
    return fail(Errc::unavailable, "rank {} has no port for rank {}", rank, job.rank);
  EnvJob there = job;
  there.address = parent.address;
  there.port = parent.port;
  there.join_patience = k_parent_patience;
  NCCLPROBE_TRY_ASSIGN(Attempt attempt, connect_to(there, rank));
  return std::move(*attempt.socket);
}

// Whoever is missing afterwards cannot reach this rank.
std::map<int, FrameSocket> await_children(const EnvJob& job, const std::vector<Branch>& branches,
                                          TreePort own) {
  std::set<int> children;
  for (const Branch& child : branches)
    children.insert(child.first);
  EnvJob here = job;
  here.address = own.address;
  here.port = own.port;
  here.join_patience = k_children_patience;
  Assembly assembly(here, std::move(children), std::move(own.listener));
  (void)assembly.assemble();
  return assembly.take_joined();
}

Result<std::map<int, FrameSocket>> join_as_rank_0(const EnvJob& job) {
  NCCLPROBE_TRY_ASSIGN(base::Fd listener, open_listener(job));
  std::set<int> others;
  for (int rank = 1; rank < job.size; ++rank)
    others.insert(others.end(), rank);
  Assembly assembly(job, std::move(others), std::move(listener));
  const Result<void> assembled = assembly.assemble();
  assembly.answer_all(assembled);
  NCCLPROBE_TRY(assembled);
  return assembly.take_joined();
}

} // namespace

Result<std::map<int, FrameSocket>> join_job(const EnvJob& job) {
  if (job.size == 1)
    return std::map<int, FrameSocket>{};
  if (job.rank == 0)
    return join_as_rank_0(job);
  NCCLPROBE_TRY_ASSIGN(Attempt joined, connect_to(job, 0));
  NCCLPROBE_TRY_ASSIGN(const Assembled assembled, wait_for_all(job, *joined.socket));
  std::map<int, FrameSocket> connections;
  connections.emplace(0, std::move(*joined.socket));
  const TreePlace place = place_in_tree(job.rank, job.size, k_fan_out);
  if (place.parent > 0) {
    if (auto socket = connect_to_parent(job, place.parent, assembled))
      connections.emplace(place.parent, std::move(*socket));
    else
      spdlog::warn("{}; rank 0 sends it messages itself", socket.error().message);
  }
  if (joined.own.port != 0)
    connections.merge(await_children(job, place.children, std::move(joined.own)));
  return connections;
}

} // namespace ncclprobe::launch
