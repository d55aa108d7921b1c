// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/worker/supervisor_link.h"

#include <csignal>
#include <unistd.h>

namespace ncclprobe::worker {
namespace {

constexpr std::chrono::milliseconds k_patience{500}; // limit of an answer to Where

// Only our own process group may be killed: a worker started by hand shares its shell's group.
[[noreturn]] void die_with_children() {
  if (getpgrp() == getpid())
    ::kill(0, SIGKILL);
  ::_exit(1);
}

} // namespace

SupervisorLink::SupervisorLink(base::Fd channel, const ProgressBoard& board)
    : channel_(std::move(channel)), board_(board) {
  std::thread([this] { read_until_the_end(); }).detach(); // ends with the process, never before
}

void SupervisorLink::read_until_the_end() {
  while (true) {
    auto message = channel_.receive(base::Deadline::never());
    if (!message)
      die_with_children();
    if (!*message)
      continue;
    if (std::holds_alternative<wire::Where>((*message)->body)) {
      tell_position();
      continue;
    }
    std::lock_guard lock(mutex_);
    inbox_.push_back(std::move(**message));
    arrived_.notify_one();
  }
}

void SupervisorLink::tell_position() {
  wire::Message answer{-1, wire::Position{board_.text(), probe_.take(k_patience)}};
  // A thread that holds it longer waits for the supervisor to read, and this thread must stay free
  // to detect the supervisor's end.
  std::unique_lock lock(sending_, k_patience);
  if (lock && !channel_.send(answer, base::Deadline::after(k_patience)))
    die_with_children(); // half a frame may have been sent
}

void SupervisorLink::send(wire::Message message) {
  std::lock_guard lock(sending_);
  if (!channel_.send(message))
    die_with_children();
}

wire::Message SupervisorLink::next() {
  std::unique_lock lock(mutex_);
  arrived_.wait(lock, [&] { return !inbox_.empty(); });
  wire::Message message = std::move(inbox_.front());
  inbox_.pop_front();
  return message;
}

wire::Start SupervisorLink::wait_for_start() {
  wire::Message message = next();
  auto* start = std::get_if<wire::Start>(&message.body);
  if (start == nullptr)
    raise(Errc::protocol, "the supervisor's first message is not Start");
  return std::move(*start);
}

std::vector<std::string> SupervisorLink::exchange(const std::string& key,
                                                  const std::vector<int>& members,
                                                  const std::map<int, std::string>& own) {
  send({own.empty() ? -1 : own.begin()->first, wire::Exchange{key, members, own}});
  wire::Message message = next();
  auto* reply = std::get_if<wire::Exchange>(&message.body);
  if (reply == nullptr || reply->key != key)
    raise(Errc::protocol, "expected all members' contributions to '{}'", key);
  std::vector<std::string> all;
  for (int rank : members) {
    auto found = reply->contributions.find(rank);
    if (found == reply->contributions.end())
      raise(Errc::protocol, "rank {} contributed nothing to '{}'", rank, key);
    all.push_back(std::move(found->second));
  }
  return all;
}

} // namespace ncclprobe::worker
