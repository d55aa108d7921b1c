// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "plugin/cuda/kernel_recorder.h"

#include "plugin/cuda/activity_buffers.h"
#include "plugin/host_clock.h"
#include "plugin/profiler/tracing.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <linux/futex.h>
#include <memory>
#include <new>
#include <sys/syscall.h>
#include <unistd.h>

namespace ncclprobe::plugin {
namespace {

// In the memory of a process that is not ours: 16 MiB, and 26 MB of each GPU at most.
constexpr std::size_t k_buffers = 16;
constexpr std::size_t k_buffer_bytes = std::size_t{1} << 20;
constexpr std::size_t k_device_buffer_bytes = 3'200'000; // CUPTI's default
constexpr std::size_t k_device_buffers = 8;

constexpr std::uint64_t k_ms = 1'000'000;
constexpr std::uint64_t k_rest_ns = 10 * k_ms;
constexpr std::uint64_t k_between_flushes_ns = 200 * k_ms;
// Kernels that were launched in a window may end later.
constexpr std::uint64_t k_longest_drain_ns = 2'000 * k_ms;
constexpr std::uint64_t k_drain_at_exit_ns = 200 * k_ms;
constexpr std::uint64_t k_longest_end_ns = 5'000 * k_ms;

constexpr std::array<std::uint32_t, 4> k_kinds{cupti::k_kernel, cupti::k_copy, cupti::k_peer_copy,
                                               cupti::k_set};

// CUPTI's callbacks have no user pointer. Never freed: CUPTI may call until the process ends.
std::atomic<ActivityBuffers*> kernel_buffers{nullptr};
std::atomic<bool> may_refuse{false};
std::atomic<std::uint64_t> spares_lost{0};
constexpr std::size_t k_spare_bytes = std::size_t{64} << 10;

void give_buffer(std::uint8_t** buffer, std::size_t* bytes, std::size_t* most_records) {
  ActivityBuffers* buffers = kernel_buffers;
  *most_records = 0; // as many as fit
  *buffer = buffers->take();
  *bytes = *buffer == nullptr ? 0 : buffers->bytes_each();
  if (*buffer == nullptr && !may_refuse) { // an older CUPTI would crash
    *buffer = static_cast<std::uint8_t*>(std::calloc(1, k_spare_bytes)); // NOLINT: CUPTI holds it
    *bytes = *buffer == nullptr ? 0 : k_spare_bytes;
  }
}

void take_buffer(void*, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t valid) {
  if (kernel_buffers.load()->give(buffer, valid))
    return;
  if (valid > 0)
    ++spares_lost;
  std::free(buffer); // NOLINT: from give_buffer()
}

void ignore_callback(void*, std::uint32_t, std::uint32_t, const void*) {}

void wait_while(std::atomic<std::uint32_t>& word, std::uint32_t value, std::uint64_t ns) {
  const timespec longest{static_cast<time_t>(ns / 1'000'000'000),
                         static_cast<long>(ns % 1'000'000'000)};
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, &longest, nullptr, 0);
}

void wake(std::atomic<std::uint32_t>& word) {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

} // namespace

struct KernelRecorder::State {
  State(int its_rank, const Limits& its_limits, const char* its_injection,
        void (*its_say)(const std::string&))
      : rank(its_rank), limits(its_limits),
        injection(its_injection == nullptr ? "" : its_injection), say(its_say),
        windows(its_limits.steps, its_limits.every) {}

  const int rank;
  const Limits limits;
  const std::string injection;
  void (*const say)(const std::string&);
  trace::SpoolWriter spool;
  std::string stem;
  KernelWindows windows;
  pid_t process = getpid();
  std::uint64_t start_ns = host_now();

  // --- written by follow() ---
  std::atomic<std::uint64_t> steps{0};
  std::atomic<bool> steps_known{false};
  std::atomic<bool> ended{false};

  std::atomic<std::uint32_t> stop{0}, done{0}; // futexes
  std::thread thread;

  // --- of the thread ---
  const LoadedCupti* library = nullptr;
  std::optional<KernelRows> rows;
  cupti::Subscriber subscriber = nullptr;
  bool is_on = false;
  std::uint64_t on_since_ns = 0, next_flush_ns = 0;
  std::uint64_t windows_recorded = 0, windows_refused = 0;
  std::uint64_t losses_written[4] = {};
  std::set<std::string> said;

  const cupti::Functions& call() const { return library->call; }

  // Each problem once.
  void report(const std::string& problem) {
    if (!said.insert(problem).second)
      return;
    spool.note(rank, trace::k_missing, "kernels: " + problem);
    say("kernels are not recorded: " + problem);
  }

  std::string words_of(cupti::Result result) const {
    const char* words = nullptr;
    (void)call().cuptiGetResultString(result, &words);
    return std::string(words == nullptr ? "" : words) + " (" + std::to_string(result) + ")";
  }

  bool prepare() {
    library = &loaded_cupti();
    if (!library->problem.empty()) {
      report(library->problem);
      return false;
    }
    if (kernel_buffers == nullptr) {
      may_refuse = library->version >= cupti::k_bears_refusal;
      kernel_buffers = new ActivityBuffers(k_buffers, k_buffer_bytes);
    }
    spool.note(rank, "cupti", std::to_string(library->version));
    rows.emplace(spool, limits, stem, call().cuptiActivityGetNextRecord, traced_rank_of_device);
    return true;
  }

  void run() {
    try {
      record_until_stopped();
    } catch (const std::exception& problem) { // no memory
      report(problem.what());
      if (is_on)
        turn_off();
    }
    done = 1;
    wake(done);
  }

  void record_until_stopped() {
    bool prepared = false;
    while (stop == 0) {
      const std::uint64_t now_ns = host_now();
      const bool wants = windows.wants({steps_known, steps, ended}, now_ns - start_ns);
      if (wants && !is_on) {
        if (!prepared && !prepare())
          return;
        prepared = true;
        if (!turn_on())
          wait_while(stop, 0, k_between_flushes_ns); // asked again while the window lasts
      } else if (!wants && is_on) {
        end_window();
      }
      if (is_on && now_ns >= next_flush_ns) {
        // Returns full buffers whose kernels have all ended; so a killed process loses little.
        (void)call().cuptiActivityFlushAll(0);
        next_flush_ns = now_ns + k_between_flushes_ns;
      }
      if (prepared)
        write_full();
      if (is_on && rows->losses().left_out > 0 && limits.last_ns == 0) {
        end_window();
        report("after " + std::to_string(limits.most_bytes) + " bytes, the limit of size");
        return;
      }
      wait_while(stop, 0, k_rest_ns);
    }
    if (is_on)
      end_window();
  }

  cupti::Result subscribe(std::string& other) {
    if (call().cuptiSubscribe_v2 == nullptr)
      return call().cuptiSubscribe(&subscriber, ignore_callback, nullptr);
    std::array<char, 128> name{}; // CUPTI wants 64 at least
    cupti::SubscriberParameters parameters{sizeof parameters, "ncclprobe", name.data(),
                                           name.size()};
    const cupti::Result result =
        call().cuptiSubscribe_v2(&subscriber, ignore_callback, nullptr, &parameters);
    name.back() = '\0';
    other = name.data();
    return result;
  }

  bool turn_on() {
    std::string other;
    cupti::Result result = subscribe(other);
    if (result == cupti::k_other_subscriber) {
      ++windows_refused;
      if (other.empty() || other.find("<not provided>") != std::string::npos) // CUPTI's own words
        other = probable_cupti_user(mapped_files(), injection.c_str());
      report("another tool uses CUPTI, which serves one per process: " +
             (other.empty() ? "CUPTI does not name it" : other));
      return false;
    }
    const char* what = "be used";
    auto check = [&](cupti::Result next, const char* then) {
      if (result == cupti::k_success && next != cupti::k_success) {
        result = next;
        what = then;
      }
    };
    if (result == cupti::k_success) {
      check(call().cuptiActivityRegisterTimestampCallback(host_now), "use our clock");
      check(call().cuptiActivityRegisterCallbacks(give_buffer, take_buffer), "use our buffers");
      if (result == cupti::k_success)
        on_since_ns = host_now();
      for (std::uint32_t kind : k_kinds)
        if (result == cupti::k_success)
          check(call().cuptiActivityEnable(kind), "record kernels and copies");
      is_on = true;
      if (result != cupti::k_success)
        turn_off();
    }
    if (result != cupti::k_success)
      report("CUPTI cannot " + std::string(what) + ": " + words_of(result));
    else
      on_since_ns = host_now(); // launches before this are incomplete
    return is_on;
  }

  void turn_off() {
    for (std::uint32_t kind : k_kinds)
      (void)call().cuptiActivityDisable(kind);
    (void)call().cuptiUnsubscribe(subscriber);
    is_on = false;
  }

  void end_window() {
    const std::uint64_t end_ns = host_now();
    for (std::uint32_t kind : k_kinds)
      (void)call().cuptiActivityDisable(kind);
    // No buffer is left with CUPTI once all kernels of the window have ended.
    const std::uint64_t give_up_ns = end_ns + (stop == 0 ? k_longest_drain_ns : k_drain_at_exit_ns);
    while (kernel_buffers.load()->in_use() > 0 && host_now() < give_up_ns) {
      (void)call().cuptiActivityFlushAll(0);
      write_full();
      if (kernel_buffers.load()->in_use() > 0)
        wait_while(done, 0, k_rest_ns);
    }
    (void)call().cuptiActivityFlushAll(cupti::k_flush_forced);
    write_full();
    turn_off();
    rows->add(rank, trace::KernelWindowRow{on_since_ns, end_ns});
    ++windows_recorded;
    write_losses(end_ns);
  }

  void write_full() {
    ActivityBuffers& buffers = *kernel_buffers;
    for (auto full = buffers.next({}); full.data != nullptr; full = buffers.next({})) {
      rows->decode(full.data, full.valid_bytes, clock_now(CLOCK_REALTIME));
      buffers.put_back(full);
    }
  }

  void write_losses(std::uint64_t now_ns) {
    std::size_t dropped = 0;
    if (call().cuptiActivityGetNumDroppedRecords(nullptr, 0, &dropped) != cupti::k_success)
      dropped = 0;
    using trace::LossKind;
    auto add = [&](std::size_t place, LossKind kind, std::uint64_t total) {
      if (total > losses_written[place])
        spool.append(rank, trace::LossRow{total - losses_written[place], now_ns, kind});
      losses_written[place] = total;
    };
    const KernelRows::Losses& losses = rows->losses();
    add(0, LossKind::no_times, losses.no_times);
    add(1, LossKind::unknown_record, losses.unknown);
    add(2, LossKind::file, losses.left_out + spool.rows_lost());
    // CUPTI's count begins anew with each call. A spare buffer is counted as one record at least.
    add(3, LossKind::dropped_by_library, losses_written[3] + dropped + spares_lost.exchange(0));
  }
};

KernelRecorder::KernelRecorder(int rank, std::string path, const Limits& limits,
                               const char* injection, void (*say)(const std::string&))
    : state_(nullptr) {
  auto made = std::make_unique<State>(rank, limits, injection, say);
  if (!made->spool.open(path)) {
    say("cannot write " + path + " (" + std::strerror(errno) + "): kernels are not recorded");
    return;
  }
  made->stem = path.substr(0, path.rfind('.')) + ".last";
  made->spool.note(rank, trace::k_kernels,
                   limits.every == 0 ? "all"
                                     : std::to_string(limits.steps) + " steps of every " +
                                           std::to_string(limits.every));
  // Signals belong to the program: this thread handles none.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    made->thread = std::thread([own = made.get()] { own->run(); });
  } catch (...) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  state_ = made.release();
}

KernelRecorder::~KernelRecorder() {
  if (state_ == nullptr || state_->process != getpid()) // a forked child has no such thread
    return;
  state_->stop = 1;
  wake(state_->stop);
  const std::uint64_t give_up_ns = host_now() + k_longest_end_ns;
  while (state_->done == 0 && host_now() < give_up_ns)
    wait_while(state_->done, 0, k_rest_ns);
  if (state_->done == 0) {
    state_->thread.detach();
    return;
  }
  state_->thread.join();
  delete state_;
}

void KernelRecorder::follow(const JobProgress& progress) {
  if (state_ == nullptr)
    return;
  state_->steps = progress.steps;
  state_->steps_known = progress.steps_known;
  state_->ended = progress.ended;
}

void prepare_kernel_recording() {
  const LoadedCupti& library = loaded_cupti();
  if (!library.problem.empty())
    return; // said when kernels are wanted
  auto set = [&](std::uint32_t attribute, auto value) {
    std::size_t bytes = sizeof value;
    (void)library.call.cuptiActivitySetAttribute(attribute, &bytes, &value);
  };
  set(cupti::k_device_buffer_bytes, k_device_buffer_bytes);
  set(cupti::k_device_buffers, k_device_buffers);
  set(cupti::k_zeroed, std::uint8_t{1});
}

} // namespace ncclprobe::plugin
