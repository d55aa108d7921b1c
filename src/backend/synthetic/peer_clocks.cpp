// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "backend/synthetic/peer_clocks.h"

#include <atomic>
#include <thread>

namespace ncclprobe::backend {

// Zeroes: no message yet.
struct PeerClocks::Slot {
  std::atomic<std::uint64_t> number; // of the message, from 1
  std::atomic<std::int64_t> sent_ns;
};

namespace {

constexpr std::uint64_t k_messages = 256; // of each pair, that are remembered

} // namespace

std::shared_ptr<PeerClocks> PeerClocks::connect(const std::string& key,
                                                const std::vector<int>& ranks,
                                                std::span<const Member> local,
                                                Rendezvous& rendezvous) {
  auto barrier = share_barrier(key, ranks, local, rendezvous,
                               ranks.size() * ranks.size() * k_messages * sizeof(Slot));
  if (!barrier)
    return nullptr;
  return std::shared_ptr<PeerClocks>(
      new PeerClocks(std::move(barrier), static_cast<int>(ranks.size()), local));
}

PeerClocks::PeerClocks(std::unique_ptr<HostBarrier> barrier, int size,
                       std::span<const Member> local)
    : barrier_(std::move(barrier)), size_(size) {
  for (const Member& member : local)
    own_.push_back(member.rank);
}

double PeerClocks::all_reduce_max(double value) {
  // Nobody looks around: a rank that fails ends the trial, and with it this process.
  return barrier_->all_reduce_max(own_, value, [] {});
}

// A thread that speaks for several ranks asks for one after the other, so it cannot wait.
std::int64_t PeerClocks::last_begin_ns(std::int64_t own_ns) {
  return own_.size() > 1 ? own_ns
                         : static_cast<std::int64_t>(all_reduce_max(static_cast<double>(own_ns)));
}

PeerClocks::Slot& PeerClocks::slot(int from, int to, std::uint64_t number) const {
  auto* slots = reinterpret_cast<Slot*>(barrier_->extra());
  auto pair = static_cast<std::size_t>(from) * static_cast<std::size_t>(size_) +
              static_cast<std::size_t>(to);
  return slots[pair * k_messages + number % k_messages];
}

void PeerClocks::tell_begin(int from, int to, std::uint64_t number, std::int64_t ns) {
  Slot& place = slot(from, to, number);
  place.sent_ns.store(ns, std::memory_order_relaxed);
  place.number.store(number + 1, std::memory_order_release);
}

std::int64_t PeerClocks::sent_ns(int from, int to, std::uint64_t number) const {
  if (own_.size() > 1)
    return 0;
  Slot& place = slot(from, to, number);
  while (place.number.load(std::memory_order_acquire) < number + 1)
    std::this_thread::yield();
  std::int64_t ns = place.sent_ns.load(std::memory_order_acquire);
  return place.number.load(std::memory_order_relaxed) == number + 1 ? ns : 0;
}

} // namespace ncclprobe::backend
