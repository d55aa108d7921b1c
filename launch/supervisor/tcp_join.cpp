// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/supervisor/tcp_join.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/name_ranks.h"
#include "base/sha256.h"
#include "launch/supervisor/tcp_frames.h"
#include "launch/supervisor/tree_mail.h"
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

constexpr std::string_view k_protocol = "ncclprobe supervisors 1";
// How long a connection may take to show who it is. Strangers cost no more than this.
constexpr auto k_hello_patience = 10s;
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

  Result<std::map<int, FrameSocket>> assemble() {
    const base::Deadline until = base::Deadline::after(job_.join_patience);
    while (joined_.size() < expected_.size() && !until.expired())
      turn(until.left_ms(100));
    if (joined_.size() == expected_.size())
      return std::move(joined_);
    return fail(give_up());
  }
  std::map<int, FrameSocket> take_joined() { return std::move(joined_); }

private:
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
    for (const auto& [rank, socket] : joined_)
      watched.push_back({socket.fd(), POLLRDHUP, 0});
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
    joined_.emplace(hello->rank, std::move(one.socket));
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

  // Those that have joined hear of it in their first gather.
  Error give_up() {
    std::vector<int> missing;
    for (int rank : expected_)
      if (!joined_.contains(rank))
        missing.push_back(rank);
    Error error{
        Errc::unavailable,
        fmt::format("{} did not join at {} within {} s{}", base::name_ranks(missing), place(job_),
                    job_.join_patience.count(),
                    last_refusal_.empty() ? "" : "; a process was refused: " + last_refusal_),
        "look at the output of these ranks; NCCLPROBE_JOIN_TIMEOUT=SECONDS waits longer"};
    for (auto& [rank, socket] : joined_) {
      if (job_.rank != 0)
        break;
      const DownBundle answer{{{1, 1, 0, {}, wire::pack(Gathered{error.message, error.hint, {}})}}};
      socket.enqueue({FrameKind::message, 0, rank, encode_mail(answer)});
      (void)socket.flush();
    }
    return error;
  }

  const EnvJob& job_;
  const std::set<int> expected_;
  base::Fd listener_;
  std::list<Stranger> strangers_;
  std::map<int, FrameSocket> joined_;
  std::string last_refusal_;
  int refusals_ = 0;
};

// A problem that another attempt may not have, or one that it will have as well.
struct Attempt {
  std::optional<FrameSocket> socket;
  std::string problem;
  bool final = false;
};

bool wait_for(int fd, short events, const base::Deadline& until) {
  pollfd watched{fd, events, 0};
  return ::poll(&watched, 1, until.left_ms(60'000)) > 0;
}

std::optional<Frame> wait_for_frame(const EnvJob& job, FrameSocket& socket, FrameKind kind) {
  const base::Deadline until = base::Deadline::after(
      std::min<std::chrono::nanoseconds>(k_hello_patience, job.join_patience));
  while (!until.expired()) {
    if (!wait_for(socket.fd(), POLLIN, until))
      continue;
    const bool open = socket.receive();
    if (auto frame = socket.next())
      return frame->kind == kind ? frame : std::nullopt;
    if (!open)
      break;
  }
  return std::nullopt;
}

Attempt introduce(const EnvJob& job, int to, base::Fd connected) {
  Attempt attempt;
  FrameSocket socket(std::move(connected));
  auto frame = wait_for_frame(job, socket, FrameKind::challenge);
  const auto challenge = frame ? read_as<Challenge>(frame->bytes) : std::nullopt;
  if (!challenge || challenge->protocol != k_protocol) {
    attempt.problem = "the listener is not an ncclprobe of this version";
    return attempt;
  }
  Hello hello{std::string(k_protocol), job.id, make_nonce(), "", job.rank, job.size};
  hello.proof = proof_of(job, "other", challenge->nonce, hello.nonce, job.rank);
  socket.enqueue({FrameKind::hello, job.rank, 0, wire::pack(hello)});
  (void)socket.flush();
  frame = wait_for_frame(job, socket, FrameKind::welcome);
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
    return {std::nullopt, std::strerror(error)};
  send_small_frames_at_once(socket);
  return introduce(job, to, std::move(socket));
}

Attempt try_to_join(const EnvJob& job, int to) {
  const auto addresses = addresses_of(job);
  if (!addresses)
    return {std::nullopt, addresses.error().message};
  Attempt attempt;
  for (const addrinfo* one = addresses->get(); one != nullptr; one = one->ai_next) {
    attempt = try_address(job, to, *one);
    if (attempt.socket || attempt.final)
      break;
  }
  return attempt;
}

// Rank 0 may start later than this one, and its name may be known later still.
Result<FrameSocket> connect_to(const EnvJob& job, int to) {
  const base::Deadline until = base::Deadline::after(job.join_patience);
  Attempt attempt;
  while (true) {
    attempt = try_to_join(job, to);
    if (attempt.socket)
      return std::move(*attempt.socket);
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

} // namespace

Result<std::map<int, FrameSocket>> join_job(const EnvJob& job) {
  std::map<int, FrameSocket> connections;
  if (job.size == 1)
    return connections;
  if (job.rank == 0) {
    NCCLPROBE_TRY_ASSIGN(base::Fd listener, open_listener(job));
    std::set<int> others;
    for (int rank = 1; rank < job.size; ++rank)
      others.insert(others.end(), rank);
    return Assembly(job, std::move(others), std::move(listener)).assemble();
  }
  NCCLPROBE_TRY_ASSIGN(FrameSocket socket, connect_to(job, 0));
  connections.emplace(0, std::move(socket));
  return connections;
}

std::map<int, FrameSocket> join_tree(const EnvJob& job, const TreePlace& place, TreePort own,
                                     const std::string& parent_address, int parent_port) {
  std::map<int, FrameSocket> connections;
  if (place.parent > 0) {
    EnvJob parent = job;
    parent.address = parent_address;
    parent.port = parent_port;
    parent.join_patience = k_parent_patience;
    if (auto socket = connect_to(parent, place.parent))
      connections.emplace(place.parent, std::move(*socket));
    else
      spdlog::warn("{}; rank 0 sends it messages itself", socket.error().message);
  }
  if (own.port == 0)
    return connections;
  std::set<int> children;
  for (const Branch& child : place.children)
    children.insert(child.first);
  EnvJob here = job;
  here.address = own.address;
  here.port = own.port;
  here.join_patience = k_children_patience;
  Assembly assembly(here, std::move(children), std::move(own.listener));
  auto joined = assembly.assemble();
  connections.merge(joined ? std::move(*joined) : assembly.take_joined());
  return connections;
}

} // namespace ncclprobe::launch
