// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "backend/host_barrier.h"

#include "base/error.h"
#include "base/log.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <random>
#include <sys/mman.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

namespace ncclprobe::backend {

// In a cache line of its own. Consecutive rounds use different values: a rank may begin the next
// round while another still reads, but no rank can be two rounds ahead.
struct alignas(64) HostBarrier::Slot {
  std::atomic<std::uint64_t> round; // the rank's round, from 1
  std::atomic<double> values[2];    // indexed by round modulo 2
};

namespace {

constexpr std::uint64_t k_polls_before_yielding = 2048; // some tens of microseconds
constexpr std::uint64_t k_polls_between_looks = 1024;

[[noreturn]] void raise_errno(const std::string& what) {
  raise(Errc::unavailable, "{}: {}", what, std::strerror(errno));
}

} // namespace

std::size_t HostBarrier::bytes_of(int size, std::size_t extra_bytes) {
  return static_cast<std::size_t>(size) * sizeof(Slot) + extra_bytes;
}

HostBarrier::HostBarrier(base::Fd file, std::string name, int size, std::size_t extra_bytes)
    : file_(std::move(file)), name_(std::move(name)), size_(size),
      bytes_(bytes_of(size, extra_bytes)) {
  static_assert(std::atomic<double>::is_always_lock_free);
  void* memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, file_.get(), 0);
  if (memory == MAP_FAILED)
    raise_errno("cannot map the memory that the ranks on this host share");
  slots_ = static_cast<Slot*>(memory); // the kernel fills it with zeroes, which is round 0 for all
}

HostBarrier::~HostBarrier() {
  munmap(slots_, bytes_);
}

std::byte* HostBarrier::extra() const {
  return reinterpret_cast<std::byte*>(slots_ + size_);
}

std::unique_ptr<HostBarrier> HostBarrier::create(int size, std::size_t extra_bytes) {
  std::random_device random;
  std::string name = fmt::format("ncclprobe-barrier-{:08x}{:08x}", random(), random());
  base::Fd file(memfd_create(name.c_str(), MFD_CLOEXEC));
  if (!file || ftruncate(file.get(), static_cast<off_t>(bytes_of(size, extra_bytes))) != 0)
    raise_errno("cannot create shared memory for the ranks on this host");
  return std::unique_ptr<HostBarrier>(
      new HostBarrier(std::move(file), std::move(name), size, extra_bytes));
}

std::unique_ptr<HostBarrier> HostBarrier::open(const std::string& invitation, int size,
                                               std::size_t extra_bytes) {
  std::size_t blank = invitation.find(' ');
  std::string path = invitation.substr(0, blank);
  std::string name = blank == std::string::npos ? "" : invitation.substr(blank + 1);
  // Check the path before opening it: in another PID namespace this process number may be another
  // process.
  std::error_code ignored;
  std::string found = std::filesystem::read_symlink(path, ignored).string();
  if (name.empty() || found != "/memfd:" + name + " (deleted)")
    raise(Errc::unavailable, "{} is not the shared memory of the ranks on this host", path);
  base::Fd file(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  struct stat status {};
  if (!file || fstat(file.get(), &status) != 0)
    raise_errno("cannot open " + path);
  if (static_cast<std::size_t>(status.st_size) != bytes_of(size, extra_bytes))
    raise(Errc::unavailable, "{} is not the shared memory of {} ranks", path, size);
  return std::unique_ptr<HostBarrier>(
      new HostBarrier(std::move(file), std::move(name), size, extra_bytes));
}

std::string HostBarrier::invitation() const {
  return fmt::format("/proc/{}/fd/{} {}", getpid(), file_.get(), name_);
}

double HostBarrier::all_reduce_max(std::span<const int> own_ranks, double value,
                                   const std::function<void()>& look_around) {
  ++round_;
  for (int rank : own_ranks) {
    slots_[rank].values[round_ % 2].store(value, std::memory_order_relaxed);
    slots_[rank].round.store(round_, std::memory_order_release);
  }
  double largest = value;
  std::uint64_t polls = 0;
  for (int rank = 0; rank < size_; ++rank) {
    while (slots_[rank].round.load(std::memory_order_acquire) < round_) {
      ++polls;
      if (polls % k_polls_between_looks == 0)
        look_around();
      if (polls > k_polls_before_yielding)
        std::this_thread::yield();
    }
    largest = std::max(largest, slots_[rank].values[round_ % 2].load(std::memory_order_relaxed));
  }
  return largest;
}

std::unique_ptr<HostBarrier> share_barrier(const std::string& key, const std::vector<int>& ranks,
                                           std::span<const Member> local, Rendezvous& rendezvous,
                                           std::size_t extra_bytes) {
  auto size = static_cast<int>(ranks.size());
  std::unique_ptr<HostBarrier> barrier;
  auto tell = [&](const std::string& topic, auto&& words_of) {
    std::map<int, std::string> own;
    for (const Member& member : local)
      own[member.global_rank] = words_of(member);
    return rendezvous.exchange(key + topic, ranks, own);
  };
  auto attempt = [&](auto&& make) {
    try {
      barrier = make();
    } catch (const Exception& error) {
      spdlog::debug("barriers use messages: {}", error.what());
    }
  };
  std::string invitation = tell("/barrier", [&](const Member& member) {
                             if (member.rank == 0)
                               attempt([&] { return HostBarrier::create(size, extra_bytes); });
                             return member.rank == 0 && barrier ? barrier->invitation() : "";
                           }).front();
  if (!barrier && !invitation.empty())
    attempt([&] { return HostBarrier::open(invitation, size, extra_bytes); });
  for (const std::string& word :
       tell("/met", [&](const Member&) { return barrier ? "yes" : "no"; }))
    if (word != "yes")
      return nullptr;
  return barrier;
}

} // namespace ncclprobe::backend
