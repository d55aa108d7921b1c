// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/schedule.h"
#include "workload/step_model.h"
#include "workload/step_request.h"

#include <functional>
#include <string>
#include <vector>

// Common parts of all steps' schedules: streams, memory, markers, and the compute of layers. Makers
// (ddp_step.h ...) decide the order of the work and what is communicated.
//
// Markers follow one rule: enter() and leave() begin and end stretches of a stream, and a wait ends
// the current stretch of its stream. So no stretch contains a wait.
//
// Memory: weights, gradients and communicated data have their real sizes. Inputs and results of
// products share scratch memory of the largest size; a real step also keeps the activations of all
// layers. Products read patterns instead of earlier results, so their data stays the same from step
// to step, except for the optimizer's changes of weights.
namespace ncclprobe::workload {

// The offset of each parameter in a flat array of elements.
class ParameterLayout {
public:
  ParameterLayout() = default;
  // In this order, each at a multiple of that many elements.
  ParameterLayout(const ModelSpec& spec, const std::vector<ParameterAt>& order,
                  std::uint64_t alignment);
  std::uint64_t offset(ParameterAt at) const; // of a parameter that is in the array
  bool has(ParameterAt at) const;
  std::uint64_t elements() const { return elements_; } // including padding
  // Offset of a product's weights in an array of that many elements, which is large enough. If no
  // parameter has their size, any offset.
  std::uint64_t place(const StepProduct& product, std::uint64_t available) const;

private:
  std::vector<std::vector<std::uint64_t>> offsets_; // by layer and parameter
  std::uint64_t elements_ = 0;
};

// Elements of the largest weights that a product reads.
std::uint64_t largest_weights(const StepModel& model);

class StepBuilder {
public:
  // Both outlive the object.
  StepBuilder(const StepRequest& request, const StepScope& scope);

  enum : int { compute = 0, communication = 1 }; // streams
  int add_stream(std::string name, int priority);
  // Nothing for empty buffers: every part of a step declares the same buffers, so cells share
  // memory.
  int add_buffer(std::string name, std::uint64_t bytes,
                 model::Memory memory = model::Memory::plain);
  // The members of a group are global ranks; a group of one has no communicator.
  std::vector<int> add_groups(const std::string& name, const std::vector<std::vector<int>>& groups);

  model::DataType type() const { return type_; }
  std::uint64_t element_bytes() const { return model::size_bytes(type_); }
  bool computes() const { return scope_.computes(); }
  bool communicates() const { return scope_.communicates(); }

  // Later operations are for these ranks; empty: all that train.
  void act_as(std::vector<int> ranks);

  void begin_step();
  // The compute stream waits only for the input copy here: do it before.
  void end_step();

  void enter(int stream, model::Activity activity, const std::string& label);
  void leave(int stream);
  // Enters a stretch as soon as something is computed.
  void expect(int stream, model::Activity activity, const std::string& label);
  int record(int stream); // returns the event
  void wait(int stream, int event);
  // `follower` continues when `leader` has reached this point.
  void follow(int follower, int leader) { wait(follower, record(leader)); }

  // Passes of a layer, for this many samples, inside stretches that the caller has begun. `weights`
  // gives the offset of a product's weights. `ready` is called with each gradient once it is ready.
  using Weights = std::function<model::Slice(const StepProduct&)>;
  using Ready = std::function<void(const std::vector<ParameterAt>&)>;
  void calibrate(const StepModel& whole,
                 std::uint64_t samples); // that backward_ns covers
  void forward(const StepLayer& layer, std::uint64_t samples, const Weights& weights);
  void backward(const StepLayer& layer, std::uint64_t samples, const Weights& weights,
                const Ready& ready);

  void push(model::Operation operation);
  template <typename Op>
  void push(Op op) {
    push(model::Operation{std::move(op), acting_});
  }
  void convert(int stream, model::Slice from, model::DataType from_type, model::Slice into,
               model::DataType into_type, std::uint64_t count);
  // The collective of every group at once, each among its members.
  void collective(model::Collective what, const std::vector<int>& groups, int stream,
                  model::Slice send, model::Slice receive, std::uint64_t count,
                  model::DataType type);
  // Adds GradScaler's all-reduce (StepRequest::found_inf), if requested: it sums one number over
  // all members after the compute so far, and compute continues when the sum is available.
  void share_found_inf(const std::vector<int>& groups);
  // The inputs of each group's members and the expected results, by the oracle. Without groups: any
  // values.
  void fill(model::Collective what, const std::vector<int>& groups, model::Slice at,
            std::uint64_t count, model::DataType type);
  void check(model::Collective what, const std::vector<int>& groups, model::Slice at,
             std::uint64_t count, model::DataType type);
  // The expected results of these ranks of the groups, sent by the rank that many positions before
  // them.
  void check_from(int distance, const std::vector<int>& groups, model::Slice at,
                  std::uint64_t count, model::DataType type, std::vector<int> ranks);
  // Numbers for products and the optimizer, which nobody checks.
  void fill_working(model::Slice at, std::uint64_t count, model::DataType type,
                    model::Signs signs = model::Signs::both);
  // An optimizer's state for that many parameters. The root of a negative moment is NaN, and
  // products with NaN weights would draw less power.
  void fill_moments(int state, std::uint64_t parameters);

  // Operations that are pushed before begin_step() and after end_step() run once around each batch.
  model::Schedule finish();

private:
  struct Open {
    enum class State { out, expected, in };
    State state = State::out;
    model::Activity activity{};
    std::string label;
  };
  void compute_now(model::Operation operation); // the expected stretch
  void multiply(model::Slice a, model::Slice b, std::uint64_t m, std::uint64_t n, std::uint64_t k,
                std::uint64_t batch, model::GemmLayout layout);
  void spin(double ns);
  void copy_input();
  void add_input(); // memory of the copies
  bool copies() const { return request_.input_copy.bytes > 0; }
  model::Slice scratch(std::uint64_t offset_bytes, std::uint64_t bytes);

  const StepRequest& request_;
  const StepScope& scope_;
  model::DataType type_;
  model::Schedule schedule_;
  std::vector<int> training_; // for operations: empty if all ranks of the trial train
  std::vector<int> acting_;
  std::vector<Open> open_; // by stream
  int events_ = 0;
  int copy_stream_ = -1; // the stream that copies the input
  int step_begun_ = 0;   // events
  int input_copied_ = 0;
  int factors_ = 0; // buffers
  int results_ = 0;
  std::uint64_t factor_bytes_ = 0;
  std::uint64_t result_bytes_ = 0;
  int found_inf_ = -1;     // buffer
  double ns_per_flop_ = 0; // calibrated duration of a backward pass
};

} // namespace ncclprobe::workload
