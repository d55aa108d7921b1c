// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "host/stream.h"

#include "base/clock.h"
#include "base/resource_limits.h"
#include "host/compute.h"
#include "host/memory.h"

#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <optional>

namespace ncclprobe::host {

namespace {

// How long idle() waits for the work: a caller that polls without waiting would take the CPU from
// it.
constexpr std::chrono::microseconds k_idle_wait{500};

} // namespace

struct HostEvent::State {
  std::mutex mutex;
  std::condition_variable changed;
  std::uint64_t recorded = 0;  // calls of record(); used by the driving thread only
  std::uint64_t completed = 0; // the latest of them that its stream has reached
  std::int64_t reached_ns = 0; // when that was
};

HostEvent::HostEvent() : state_(std::make_shared<State>()) {}

std::int64_t HostEvent::reached_ns() const {
  std::lock_guard lock(state_->mutex);
  return state_->reached_ns;
}

struct HostStream::Job {
  std::function<void()> work;
  std::shared_ptr<Abortable> uses;
  AfterError after_error = AfterError::dropped;
};

struct HostStream::State {
  std::mutex mutex;
  std::condition_variable pushed;
  std::condition_variable done;
  std::deque<Job> jobs;
  bool busy = false;
  std::shared_ptr<Abortable> in_use; // by the running job
  std::optional<Error> error;
  std::atomic<bool> stop = false;
};

HostStream::HostStream(std::uint64_t id, backend::TaskTracer* tracer, std::uint16_t traced_as)
    : id_(id), tracer_(tracer), traced_as_(traced_as), state_(std::make_shared<State>()),
      thread_([state = state_] { work_off(*state); }) {}

HostStream::~HostStream() {
  std::shared_ptr<Abortable> in_use;
  {
    std::lock_guard lock(state_->mutex);
    state_->stop = true;
    state_->jobs.clear();
    in_use = state_->in_use;
  }
  state_->pushed.notify_one();
  if (in_use)
    in_use->abort();
  thread_.join();
}

void HostStream::work_off(State& state) {
  std::unique_lock lock(state.mutex);
  while (true) {
    state.pushed.wait(lock, [&] { return state.stop || !state.jobs.empty(); });
    if (state.stop)
      return;
    Job job = std::move(state.jobs.front());
    state.jobs.pop_front();
    if (!state.error || job.after_error == AfterError::runs) {
      state.busy = true;
      state.in_use = job.uses;
      lock.unlock();
      std::optional<Error> problem;
      try {
        job.work();
      } catch (const Exception& error) {
        problem = error.error();
      } catch (const std::exception& error) {
        problem = Error{Errc::failed, base::words_of(error), {}};
      }
      job = {}; // releases what the job shares before the stream looks idle
      lock.lock();
      state.busy = false;
      state.in_use.reset();
      if (problem && !state.error)
        state.error = std::move(problem);
    }
    if (state.jobs.empty() || state.error)
      state.done.notify_all();
  }
}

// With a tracer, the thread that runs the job records its start and end.
HostStream::Job HostStream::traced(Job job, std::string_view name, std::uint8_t flags) const {
  if (tracer_ == nullptr)
    return job;
  tracer_->count_launch();
  job.work = [work = std::move(job.work), tracer = tracer_, stream = traced_as_, name, flags,
              operation = tracer_->operation()] {
    std::int64_t start_ns = base::monotonic_ns();
    work();
    tracer->add(stream, name, operation, start_ns, base::monotonic_ns(), flags);
  };
  return job;
}

void HostStream::push(Job job) {
  {
    std::lock_guard lock(state_->mutex);
    state_->jobs.push_back(std::move(job));
  }
  state_->pushed.notify_one();
}

void HostStream::push(std::function<void()> work, std::shared_ptr<Abortable> uses,
                      std::string_view name) {
  push(traced(Job{std::move(work), std::move(uses), AfterError::dropped}, name,
              trace::k_communication));
}

void HostStream::record(backend::Event& event) {
  auto state = static_cast<HostEvent&>(event).state_;
  std::uint64_t number = ++state->recorded;
  push(Job{[state, number] {
             std::int64_t now_ns = base::monotonic_ns();
             std::lock_guard lock(state->mutex);
             state->reached_ns = now_ns;
             state->completed = std::max(state->completed, number);
             state->changed.notify_all();
           },
           nullptr, AfterError::runs});
}

namespace {

// Interrupts the wait of one job.
class StopWaiting : public Abortable {
public:
  StopWaiting(std::mutex& mutex, std::condition_variable& changed,
              std::shared_ptr<void> keeps_alive)
      : mutex_(mutex), changed_(changed), keeps_alive_(std::move(keeps_alive)) {}
  void abort() noexcept override {
    std::lock_guard lock(mutex_);
    stopped_ = true;
    changed_.notify_all();
  }
  bool stopped() const { return stopped_; }

private:
  std::mutex& mutex_;
  std::condition_variable& changed_;
  std::shared_ptr<void> keeps_alive_;
  bool stopped_ = false;
};

} // namespace

void HostStream::wait(backend::Event& event) {
  auto state = static_cast<HostEvent&>(event).state_;
  std::uint64_t number = state->recorded;
  auto stop = std::make_shared<StopWaiting>(state->mutex, state->changed, state);
  push(Job{[state, number, stop] {
             std::unique_lock lock(state->mutex);
             state->changed.wait(lock,
                                 [&] { return stop->stopped() || state->completed >= number; });
           },
           stop, AfterError::dropped});
}

void HostStream::spin(std::uint64_t duration_ns) {
  push(traced(Job{[&stop = state_->stop, duration_ns] {
                    auto deadline = base::Deadline::after(std::chrono::nanoseconds(duration_ns));
                    while (!deadline.expired() && !stop) {
                    }
                  },
                  nullptr, AfterError::dropped},
              "spin", 0));
}

void HostStream::copy(const backend::CopyCall& call) {
  auto bytes = call.bytes;
  auto source = static_cast<HostBuffer&>(call.from.buffer).hold(call.from.offset, bytes);
  auto target = static_cast<HostBuffer&>(call.to.buffer).hold(call.to.offset, bytes);
  push(traced(Job{[source, target, bytes] { std::memmove(target.get(), source.get(), bytes); },
                  nullptr, AfterError::dropped},
              "copy", 0));
}

void HostStream::compute(std::function<void()> work, std::string_view name) {
  push(traced(Job{std::move(work), nullptr, AfterError::dropped}, name, 0));
}

namespace {

using Memory = std::shared_ptr<std::byte>;

Memory elements(const backend::Place& place, std::uint64_t count, model::DataType type) {
  if (type != model::DataType::f32 && type != model::DataType::f16 && type != model::DataType::bf16)
    raise(Errc::unsupported, "the host backend computes f32, f16 and bf16, not {}",
          to_string(type));
  return static_cast<HostBuffer&>(place.buffer).hold(place.offset, count * size_bytes(type));
}

struct Factors {
  Memory a, b, c;
};
Factors factors(const backend::GemmCall& call) {
  return {elements(call.a, call.batch * call.m * call.k, call.type),
          elements(call.b, call.batch * call.k * call.n, call.type),
          elements(call.c, call.batch * call.m * call.n, call.type)};
}

} // namespace

void HostStream::prepare(const backend::GemmCall& call) {
  (void)factors(call);
}

void HostStream::multiply(const backend::GemmCall& call) {
  Gemm gemm{nullptr, nullptr, nullptr, call.m, call.n, call.k, call.batch, call.type, call.layout};
  compute(
      [&stop = state_->stop, memory = factors(call), gemm]() mutable {
        gemm.a = memory.a.get();
        gemm.b = memory.b.get();
        gemm.c = memory.c.get();
        host::multiply(gemm, stop);
      },
      "gemm");
}

void HostStream::convert(const backend::ConvertCall& call) {
  compute(
      [from = elements(call.from, call.count, call.from_type),
       into = elements(call.into, call.count, call.into_type), from_type = call.from_type,
       into_type = call.into_type,
       count = call.count] { host::convert(from.get(), from_type, into.get(), into_type, count); },
      "convert");
}

void HostStream::optimize(const backend::OptimizerCall& call) {
  compute(
      [gradients = elements(call.gradients, call.count, call.type),
       weights = elements(call.weights, call.count, call.type),
       state = elements(call.state, 2 * call.count, model::DataType::f32), type = call.type,
       count = call.count] {
        host::optimize(gradients.get(), weights.get(), state.get(), type, count);
      },
      "optimizer");
}

bool HostStream::idle() {
  std::unique_lock lock(state_->mutex);
  auto all_done = [&] { return state_->error || (state_->jobs.empty() && !state_->busy); };
  bool done = state_->done.wait_for(lock, k_idle_wait, all_done);
  if (state_->error)
    throw Exception(*state_->error);
  return done;
}

} // namespace ncclprobe::host
