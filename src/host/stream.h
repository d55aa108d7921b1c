// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/backend.h"
#include "backend/task_tracer.h"

#include <functional>
#include <memory>
#include <string_view>
#include <thread>

namespace ncclprobe::host {

// An object that can block a thread and that another thread can abort.
class Abortable {
public:
  virtual ~Abortable() = default;
  virtual void abort() noexcept = 0; // from now on, every wait in it throws
};

// A point in a stream's work. Jobs share its state, so it may be destroyed while they run.
class HostEvent : public backend::Event {
public:
  HostEvent();
  std::int64_t reached_ns() const; // when its stream came to the latest record()

private:
  friend class HostStream;
  struct State;
  std::shared_ptr<State> state_;
};

// An in-order queue with its own thread. The first error stops it: later jobs are dropped and
// idle() throws the error from then on. Event records still run, so other streams do not wait
// for ever.
//
// The destructor does not wait for remaining work: it drops the work, and aborts what the thread
// waits for. Wait until idle() unless the trial is lost anyway.
class HostStream : public backend::Stream {
public:
  // `id` is unique in the backend and never reused. `tracer` may be null; otherwise it must outlive
  // the stream, which it knows by `traced_as`.
  explicit HostStream(std::uint64_t id, backend::TaskTracer* tracer = nullptr,
                      std::uint16_t traced_as = 0);
  ~HostStream() override;

  void record(backend::Event&) override;
  void wait(backend::Event&) override;
  void spin(std::uint64_t duration_ns) override; // burns CPU time, as a kernel would
  void copy(const backend::CopyCall& call) override;
  void prepare(const backend::GemmCall& call) override;
  void multiply(const backend::GemmCall& call) override;
  void convert(const backend::ConvertCall& call) override;
  void optimize(const backend::OptimizerCall& call) override;
  void mark(std::string_view) override {}
  bool idle() override;

  std::uint64_t id() const { return id_; }
  // `uses` is aborted if the stream is destroyed while the job runs. `name` is a literal, for the
  // trace.
  void push(std::function<void()> work, std::shared_ptr<Abortable> uses, std::string_view name);

private:
  enum class AfterError { dropped, runs };
  struct Job;
  struct State;

  Job traced(Job job, std::string_view name, std::uint8_t flags) const;
  void push(Job job);
  void compute(std::function<void()> work, std::string_view name);
  static void work_off(State&);

  std::uint64_t id_;
  backend::TaskTracer* tracer_;
  std::uint16_t traced_as_;
  std::shared_ptr<State> state_;
  std::thread thread_;
};

} // namespace ncclprobe::host
