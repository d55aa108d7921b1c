// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/worker/null_backend.h"

#include "base/clock.h"
#include "launch/worker/local_run.h"

#include <algorithm>

namespace ncclprobe::support {
namespace {

using namespace model;

class NullBuffer : public backend::Buffer {
public:
  explicit NullBuffer(std::uint64_t bytes) : bytes_(bytes) {}
  std::uint64_t size_bytes() const override { return bytes_; }
  void poison_bytes(std::uint64_t, std::uint64_t) override {}
  backend::Mismatch compare_poison(std::uint64_t, std::uint64_t) override { return {}; }
  void fill(std::uint64_t, DataType, const Pattern&, int, std::uint64_t) override {}
  backend::Mismatch compare(std::uint64_t, DataType, const Pattern&, const Expectation&) override {
    return {};
  }
  void read(std::uint64_t, std::span<std::byte>) override {}
  void write(std::uint64_t, std::span<const std::byte>) override {}

private:
  std::uint64_t bytes_;
};

class NullStream : public backend::Stream {
public:
  void record(backend::Event&) override {}
  void wait(backend::Event&) override {}
  void spin(std::uint64_t) override {}
  void copy(const backend::CopyCall&) override {}
  void prepare(const backend::GemmCall&) override {}
  void multiply(const backend::GemmCall&) override {}
  void convert(const backend::ConvertCall&) override {}
  void optimize(const backend::OptimizerCall&) override {}
  void mark(std::string_view) override {}
  bool idle() override { return true; }
};

class NullDevice : public backend::Device {
public:
  std::unique_ptr<backend::Buffer> allocate(std::uint64_t bytes) override {
    return std::make_unique<NullBuffer>(bytes);
  }
  std::unique_ptr<backend::Stream> open_stream(int) override {
    return std::make_unique<NullStream>();
  }
  std::unique_ptr<backend::Event> create_event(backend::EventUse) override {
    return std::make_unique<backend::Event>();
  }
  std::int64_t elapsed_ns(backend::Event&, backend::Event&) override { return 0; }
};

class NullCommunicator : public backend::Communicator {
public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  void enqueue(const backend::CollectiveCall&, backend::Stream&) override {}
  void send(backend::Place, std::uint64_t, DataType, int, backend::Stream&) override {}
  void receive(backend::Place, std::uint64_t, DataType, int, backend::Stream&) override {}
  void check() override {}
};

class NullBackend : public backend::Backend {
public:
  std::string_view name() const override { return "null"; }
  bool moves_data() const override { return false; }
  std::unique_ptr<backend::Device> open_device(int) override {
    return std::make_unique<NullDevice>();
  }
  std::vector<std::unique_ptr<backend::Communicator>> connect(const std::string&,
                                                              const std::vector<int>&,
                                                              std::span<const backend::Member>,
                                                              backend::Rendezvous&) override {
    std::vector<std::unique_ptr<backend::Communicator>> one;
    one.push_back(std::make_unique<NullCommunicator>());
    return one;
  }
  void group_begin() override {}
  void group_end() override {}
  double max_over_ranks(std::span<backend::Communicator* const>, double value) override {
    return value;
  }
  std::int64_t now_ns() override { return base::monotonic_ns(); }
};

} // namespace

std::unique_ptr<backend::Backend> make_null_backend() {
  return std::make_unique<NullBackend>();
}

Cell make_step_of(int operations, TimingMode mode) {
  Cell cell;
  cell.label = {StepLabel{}, 4096};
  Schedule& step = cell.schedule;
  step.streams = {{"compute"}, {"communication"}};
  step.communicators = {{"world"}};
  step.buffers = {{"bucket", 4096}, {"scratch", 4096}};
  const std::vector<Operation> mix = {
      {MarkerOp{0, "backward", Activity::backward, MarkerEdge::begin}},
      {GemmOp{.stream = 0, .a = {1}, .b = {1}, .c = {1, 1024}, .m = 8, .n = 8, .k = 8}},
      {GemmOp{.stream = 0, .a = {1}, .b = {1}, .c = {1, 1024}, .m = 8, .n = 8, .k = 8}},
      {ConvertOp{.stream = 0, .from = {1}, .into = {0}, .count = 64}},
      {MarkerOp{0, "backward", Activity::backward, MarkerEdge::end}},
      {RecordEventOp{0, 0}},
      {WaitEventOp{1, 0}},
      {MarkerOp{1, "bucket", Activity::communication, MarkerEdge::begin}},
      {CollectiveOp{Collective::all_reduce, 0, 1, {0}, {0}, 1024}},
      {MarkerOp{1, "bucket", Activity::communication, MarkerEdge::end}},
  };
  for (int i = 0; i < operations; ++i)
    step.operations.push_back(mix[static_cast<std::size_t>(i) % mix.size()]);
  step.timed = {0, operations};
  cell.timing = {.warmups = 1, .iterations = 20, .batches = 10, .mode = mode};
  return cell;
}

double overhead_ns(int operations, TimingMode mode) {
  auto results = LocalRun(make_null_backend(), 1).run(make_step_of(operations, mode));
  double best = 1e18;
  for (const Sample& sample : results.at(0).samples)
    best = std::min(best, static_cast<double>(sample.elapsed_ns) / sample.iterations / operations);
  return best;
}

} // namespace ncclprobe::support
