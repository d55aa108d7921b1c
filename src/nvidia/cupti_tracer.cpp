// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "nvidia/cupti_tracer.h"

#include "base/clock.h"
#include "base/log.h"
#include "nvidia/activity_session.h"
#include "nvidia/clock_tracer.h"
#include "nvidia/operation_log.h"
#include "nvidia/record_decoder.h"

#include <csignal>
#include <mutex>
#include <thread>

namespace ncclprobe::nvidia {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::nanoseconds k_longest_end = 3s;

// Reads the buffers that CUPTI filled, on its own thread.
class Reader {
public:
  Reader(const ActivitySession& session, const OperationLog& operations,
         const backend::TraceRequest& request)
      : session_(session),
        decoder_(request.level, *request.spool, request.rank_of_device, operations,
                 session.library().next_record, session.library().callback_name),
        thread_([this](const std::stop_token& stop) { run(stop); }) {}

  RecordDecoder::Counts counts() {
    std::lock_guard lock(mutex_);
    return decoder_.counts();
  }
  // No more buffers come. The thread ends; remaining buffers are decoded here.
  void stop() {
    thread_.request_stop();
    thread_.join();
    while (read_one(0ms)) {
    }
    decoder_.write_waiting();
  }

private:
  void run(const std::stop_token& stop) {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, nullptr);
    while (!stop.stop_requested())
      read_one(50ms);
  }
  bool read_one(std::chrono::milliseconds wait) {
    ActivityBuffers::Full full = session_.buffers().next(wait);
    if (full.data == nullptr)
      return false;
    {
      std::lock_guard lock(mutex_);
      decoder_.decode(full.data, full.valid_bytes);
    }
    session_.buffers().put_back(full);
    return true;
  }

  const ActivitySession& session_;
  std::mutex mutex_;
  RecordDecoder decoder_;
  std::jthread thread_;
};

class CuptiTracer final : public ClockTracer {
public:
  CuptiTracer(const backend::Options& options, const backend::TraceRequest& asked,
              std::shared_ptr<TraceLink> link)
      : ClockTracer(asked, std::shared_ptr<GpuClocks>(link, &link->clocks), ""),
        session_(ActivityLibrary(options), asked.level), reader_(session_, operations_, asked),
        link_(std::move(link)) {
    link_->capture_begins = [this] { operations_.begin(OperationLog::k_captured, now_ns()); };
    link_->capture_ends = [this] { operations_.end(now_ns()); };
    for (const auto& [device, rank] : asked.rank_of_device)
      asked.spool->note(rank, "cupti", session_.library().version());
    if (std::string difference = session_.library().difference(); !difference.empty())
      spdlog::info("{}", difference);
  }

  ~CuptiTracer() override {
    link_->capture_begins = nullptr;
    link_->capture_ends = nullptr;
  }

  void begin_operation(std::uint32_t id, std::uint64_t now_ns) override {
    operations_.begin(id, now_ns);
    if (request().level == model::TraceLevel::full)
      session_.push_operation(id);
  }
  void end_operation(std::uint64_t now_ns) override {
    if (request().level == model::TraceLevel::full)
      session_.pop_operation();
    operations_.end(now_ns);
  }

  void flush() override {
    ClockTracer::flush();
    session_.flush(ActivitySession::Flush::complete);
    dropped_ += session_.dropped();
  }

  void finish() override {
    ClockTracer::finish();
    wait_for_kernels();
    session_.flush(ActivitySession::Flush::forced); // no kernel runs
    reader_.stop();
    dropped_ += session_.dropped();
    write_ledger();
  }

private:
  static std::uint64_t now_ns() { return static_cast<std::uint64_t>(base::monotonic_ns()); }

  // Records of kernels that have ended become complete a little later; only then does an unforced
  // flush return them.
  void wait_for_kernels() {
    auto deadline = base::Deadline::after(k_longest_end);
    do {
      session_.flush(ActivitySession::Flush::complete);
      std::this_thread::sleep_for(5ms);
      RecordDecoder::Counts counts = reader_.counts();
      if (counts.launches > 0 && counts.kernels + counts.no_times >= counts.launches)
        return;
    } while (!deadline.expired() && session_.buffers().in_use() > 0);
  }

  void write_ledger() {
    RecordDecoder::Counts counts = reader_.counts();
    int rank = request().rank_of_device.empty() ? -1 : request().rank_of_device.begin()->second;
    auto write = [&](trace::LossKind kind, std::uint64_t count, bool always = false) {
      if (count > 0 || always)
        request().spool->append(rank, trace::LossRow{count, now_ns(), kind});
    };
    using enum trace::LossKind;
    write(dropped_by_library, dropped_);
    write(no_times, counts.no_times);
    write(unknown_record, counts.unknown);
    write(launches_seen, counts.launches, true);
    write(kernels_delivered, counts.kernels, true);
    write(calls_told, counts.calls_told);
    write(calls_unlike, counts.calls_unlike);
    if (std::uint64_t refused = session_.buffers().refused())
      spdlog::warn(
          "CUPTI filled its buffers faster than they were read: {} times no buffer was free",
          refused); // records lost for this reason are among the dropped ones
    spdlog::debug("launches reported by the runtime: {}, by the driver: {}", counts.runtime_calls,
                  counts.driver_calls);
  }

  OperationLog operations_;
  ActivitySession session_;
  Reader reader_; // dies before both
  std::shared_ptr<TraceLink> link_;
  std::uint64_t dropped_ = 0;
};

} // namespace

std::unique_ptr<backend::Tracer> start_tracer(const backend::Options& options,
                                              const backend::TraceRequest& request,
                                              const std::shared_ptr<TraceLink>& link) {
  try {
    return std::make_unique<CuptiTracer>(options, request, link);
  } catch (const Exception& error) {
    std::string missing = fmt::format("no kernels, copies and calls of CUDA: {}", error.what());
    spdlog::warn("the trace has {}", missing);
    return std::make_unique<ClockTracer>(request, std::shared_ptr<GpuClocks>(link, &link->clocks),
                                         std::move(missing));
  }
}

} // namespace ncclprobe::nvidia
