// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "backend/synthetic/fellows.h"

#include <atomic>
#include <thread>

namespace ncclprobe::backend {

// Zeroes: no message yet.
struct Fellows::Slot {
  std::atomic<std::uint64_t> number; // of the message, from 1
  std::atomic<std::int64_t> sent_ns;
};

namespace {

constexpr std::uint64_t k_messages = 256; // of each pair, that are remembered

} // namespace

std::shared_ptr<Fellows> Fellows::meet(const std::string& key, const std::vector<int>& ranks,
                                       std::span<const Member> local, Rendezvous& rendezvous) {
  auto meeting = share_meeting(key, ranks, local, rendezvous,
                               ranks.size() * ranks.size() * k_messages * sizeof(Slot));
  if (!meeting)
    return nullptr;
  return std::shared_ptr<Fellows>(
      new Fellows(std::move(meeting), static_cast<int>(ranks.size()), local));
}

Fellows::Fellows(std::unique_ptr<HostMeeting> meeting, int size, std::span<const Member> local)
    : meeting_(std::move(meeting)), size_(size) {
  for (const Member& member : local)
    own_.push_back(member.rank);
}

double Fellows::largest(double value) {
  return meeting_->meet(own_, value, [] {}); // who fails ends the trial, and with it this process
}

// A thread that speaks for several ranks asks for one after the other, so it cannot wait.
std::int64_t Fellows::last_begin_ns(std::int64_t own_ns) {
  return own_.size() > 1 ? own_ns : static_cast<std::int64_t>(largest(static_cast<double>(own_ns)));
}

Fellows::Slot& Fellows::slot(int from, int to, std::uint64_t number) const {
  auto* slots = reinterpret_cast<Slot*>(meeting_->extra());
  auto pair = static_cast<std::size_t>(from) * static_cast<std::size_t>(size_) +
              static_cast<std::size_t>(to);
  return slots[pair * k_messages + number % k_messages];
}

void Fellows::tell_begin(int from, int to, std::uint64_t number, std::int64_t ns) {
  Slot& place = slot(from, to, number);
  place.sent_ns.store(ns, std::memory_order_relaxed);
  place.number.store(number + 1, std::memory_order_release);
}

std::int64_t Fellows::sent_ns(int from, int to, std::uint64_t number) const {
  if (own_.size() > 1)
    return 0;
  Slot& place = slot(from, to, number);
  while (place.number.load(std::memory_order_acquire) < number + 1)
    std::this_thread::yield();
  std::int64_t ns = place.sent_ns.load(std::memory_order_acquire);
  return place.number.load(std::memory_order_relaxed) == number + 1 ? ns : 0;
}

} // namespace ncclprobe::backend
