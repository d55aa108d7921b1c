// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "workload/step_builder.h"

#include <algorithm>
#include <cmath>

namespace ncclprobe::workload {

using namespace model;

namespace {

constexpr std::uint64_t k_absent = static_cast<std::uint64_t>(-1);
constexpr std::uint64_t k_product_alignment_bytes =
    256; // alignment of what products read, as from cudaMalloc

std::uint64_t round_up(std::uint64_t value, std::uint64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

} // namespace

ParameterLayout::ParameterLayout(const ModelSpec& spec, const std::vector<ParameterAt>& order,
                                 std::uint64_t alignment) {
  for (const Layer& layer : spec.layers)
    offsets_.emplace_back(layer.parameters.size(), k_absent);
  for (ParameterAt at : order) {
    elements_ = round_up(elements_, alignment);
    offsets_[at.layer][at.parameter] = elements_;
    elements_ += parameter_at(spec, at).elements;
  }
}

std::uint64_t ParameterLayout::offset(ParameterAt at) const {
  return offsets_.at(at.layer).at(at.parameter);
}

bool ParameterLayout::has(ParameterAt at) const {
  return offset(at) != k_absent;
}

std::uint64_t ParameterLayout::place(const StepProduct& product, std::uint64_t available) const {
  if (!product.weights || !has(*product.weights) ||
      offset(*product.weights) + product.weight_elements() > available)
    return 0;
  return offset(*product.weights);
}

std::uint64_t largest_weights(const StepModel& model) {
  std::uint64_t most = 0;
  for (const StepLayer& layer : model.layers)
    for (const StepProduct& one : layer.products)
      if (one.product.kind == Product::Kind::weights)
        most = std::max(most, one.weight_elements());
  return most;
}

StepBuilder::StepBuilder(const StepRequest& request, const StepScope& scope)
    : request_(request), scope_(scope), type_(data_type(request.type)) {
  add_stream("compute", 0);
  add_stream("communication", request.priority);
  std::vector<int> sorted = scope.ranks;
  std::ranges::sort(sorted);
  if (scope.size() < scope.world)
    training_ = std::move(sorted);
  acting_ = training_;
  factors_ = add_buffer("factors", 0);
  results_ = add_buffer("results", 0);
  if (request.found_inf)
    found_inf_ = add_buffer("found inf", sizeof(float), request.memory);
}

int StepBuilder::add_stream(std::string name, int priority) {
  schedule_.streams.push_back({std::move(name), priority});
  open_.emplace_back();
  return static_cast<int>(schedule_.streams.size()) - 1;
}

int StepBuilder::add_buffer(std::string name, std::uint64_t bytes, Memory memory) {
  schedule_.buffers.push_back({std::move(name), bytes, memory});
  return static_cast<int>(schedule_.buffers.size()) - 1;
}

std::vector<int> StepBuilder::add_groups(const std::string& name,
                                         const std::vector<std::vector<int>>& groups) {
  std::vector<int> added;
  for (const std::vector<int>& ranks : groups) {
    if (ranks.size() < 2)
      continue;
    CommunicatorDecl one{groups.size() == 1 ? name : fmt::format("{} {}", name, added.size()),
                         ranks};
    bool whole_world =
        static_cast<int>(ranks.size()) == scope_.world && std::ranges::is_sorted(ranks);
    if (whole_world)
      one.ranks.clear();
    added.push_back(static_cast<int>(schedule_.communicators.size()));
    schedule_.communicators.push_back(std::move(one));
  }
  return added;
}

void StepBuilder::act_as(std::vector<int> ranks) {
  acting_ = ranks.empty() ? training_ : std::move(ranks);
}

void StepBuilder::push(Operation operation) {
  schedule_.operations.push_back(std::move(operation));
}

void StepBuilder::share_found_inf(const std::vector<int>& groups) {
  if (found_inf_ < 0 || groups.empty())
    return;
  const Slice flag{found_inf_};
  fill(Collective::all_reduce, groups, flag, 1, DataType::f32);
  check(Collective::all_reduce, groups, flag, 1, DataType::f32);
  leave(compute);
  follow(communication, compute);
  enter(communication, Activity::communication, "found inf");
  collective(Collective::all_reduce, groups, communication, flag, flag, 1, DataType::f32);
  leave(communication);
  follow(compute, communication);
}

void StepBuilder::begin_step() {
  schedule_.timed.first = static_cast<int>(schedule_.operations.size());
  push(MarkerOp{compute, "step"});
  if (!copies())
    return;
  copy_stream_ = add_stream("input copy", 0);
  step_begun_ = record(compute);
  if (request_.input_copy.from == Memory::pinned_host)
    copy_input();
}

void StepBuilder::end_step() {
  if (copies() && request_.input_copy.from == Memory::pageable_host)
    copy_input();
  if (copies())
    wait(compute, input_copied_);
  for (int stream = 0; stream < std::ssize(open_); ++stream)
    leave(stream);
  push(MarkerOp{compute, "step end"});
  schedule_.timed.last = static_cast<int>(schedule_.operations.size());
  if (request_.launch == Launch::graph)
    schedule_.capture = schedule_.timed;
}

void StepBuilder::enter(int stream, Activity activity, const std::string& label) {
  Open& open = open_[stream];
  if (open.state == Open::State::in && open.activity == activity && open.label == label)
    return;
  leave(stream);
  open = {Open::State::in, activity, label};
  push(MarkerOp{stream, label, activity, MarkerEdge::begin});
}

void StepBuilder::expect(int stream, Activity activity, const std::string& label) {
  Open& open = open_[stream];
  if (open.state == Open::State::in && open.activity == activity && open.label == label)
    return;
  leave(stream);
  open = {Open::State::expected, activity, label};
}

void StepBuilder::leave(int stream) {
  Open& open = open_[stream];
  if (open.state == Open::State::in)
    push(MarkerOp{stream, open.label, open.activity, MarkerEdge::end});
  open.state = Open::State::out;
}

void StepBuilder::compute_now(Operation operation) {
  Open& open = open_[compute];
  if (open.state == Open::State::expected)
    enter(compute, open.activity, std::string(open.label));
  push(std::move(operation));
}

int StepBuilder::record(int stream) {
  push(RecordEventOp{stream, events_});
  return events_++;
}

void StepBuilder::wait(int stream, int event) {
  leave(stream);
  push(WaitEventOp{stream, event});
}

// From and into buffers that add_input() declares.
void StepBuilder::copy_input() {
  wait(copy_stream_, step_begun_);
  enter(copy_stream_, Activity::host_copy, "input copy");
  for (int rank : scope_.ranks) {
    CopyOp copy;
    copy.stream = copy_stream_;
    copy.from_rank = copy.to_rank = rank;
    copy.bytes = request_.input_copy.bytes;
    push(Operation{copy, {}});
  }
  leave(copy_stream_);
  input_copied_ = record(copy_stream_);
}

// After all other buffers, so those are the same with and without a copy.
void StepBuilder::add_input() {
  const InputCopy& input = request_.input_copy;
  const Slice on_host{add_buffer("input on the host", input.bytes, input.from)};
  const Slice on_device{add_buffer("input", input.bytes)};
  for (Operation& operation : schedule_.operations)
    if (auto* copy = std::get_if<CopyOp>(&operation.what)) {
      copy->from = on_host;
      copy->to = on_device;
    }
  const std::uint64_t count = input.bytes / size_bytes(DataType::f32);
  schedule_.fills.push_back({k_all_ranks, on_host, count, DataType::f32, ReduceOp::sum,
                             Collective::send_recv, 0, training_});
  for (int rank : scope_.ranks) {
    DataCheck one{Collective::broadcast, k_all_ranks,   on_device, count,
                  DataType::f32,         ReduceOp::sum, rank};
    one.ranks = {rank};
    schedule_.checks.push_back(std::move(one));
  }
}

void StepBuilder::calibrate(const StepModel& whole, std::uint64_t samples) {
  if (request_.compute.kind == StepCompute::Kind::calibrated)
    ns_per_flop_ = static_cast<double>(request_.compute.backward_ns) /
                   (whole.backward_flops() * static_cast<double>(samples));
}

void StepBuilder::spin(double ns) {
  if (auto whole_ns = static_cast<std::uint64_t>(std::llround(ns)); whole_ns > 0)
    compute_now({SpinOp{compute, whole_ns}, acting_});
}

Slice StepBuilder::scratch(std::uint64_t offset_bytes, std::uint64_t bytes) {
  factor_bytes_ = std::max(factor_bytes_, offset_bytes + bytes);
  return {factors_, offset_bytes};
}

void StepBuilder::multiply(Slice a, Slice b, std::uint64_t m, std::uint64_t n, std::uint64_t k,
                           std::uint64_t batch, GemmLayout layout) {
  result_bytes_ = std::max(result_bytes_, m * n * batch * element_bytes());
  GemmMath math = request_.type == StepType::tf32 ? GemmMath::tf32 : GemmMath::full;
  compute_now({GemmOp{compute, a, b, {results_}, m, n, k, batch, type_, layout, math}, acting_});
}

namespace {

// A product as calls take it, for this many samples: rows x n = rows x k times k x n, repeated.
struct Shape {
  Shape(const StepProduct& one, std::uint64_t samples) {
    const Product& product = one.product;
    bool weights = product.kind == Product::Kind::weights;
    batch = weights ? one.groups : product.count * samples;
    rows = weights ? (product.rows * samples + one.groups - 1) / one.groups : product.rows;
    n = product.n;
    k = product.k;
  }
  std::uint64_t rows, n, k, batch;
};

} // namespace

void StepBuilder::forward(const StepLayer& layer, std::uint64_t samples, const Weights& weights) {
  if (!computes() || request_.compute.kind == StepCompute::Kind::none)
    return;
  if (request_.compute.kind == StepCompute::Kind::calibrated) {
    double flops = 0;
    for (const StepProduct& one : layer.products)
      flops += one.backward_flops() / 2;
    return spin(flops * static_cast<double>(samples) * ns_per_flop_);
  }
  for (const StepProduct& one : layer.products) {
    Shape of(one, samples);
    std::uint64_t input = of.rows * of.k * of.batch * element_bytes();
    std::uint64_t other = of.k * of.n * of.batch * element_bytes();
    bool with_weights = one.product.kind == Product::Kind::weights;
    Slice second =
        with_weights ? weights(one) : scratch(round_up(input, k_product_alignment_bytes), other);
    multiply(second, scratch(0, input), of.n, of.rows, of.k, of.batch, GemmLayout::tn);
  }
}

void StepBuilder::backward(const StepLayer& layer, std::uint64_t samples, const Weights& weights,
                           const Ready& ready) {
  using Kind = StepCompute::Kind;
  bool multiplies = computes() && request_.compute.kind == Kind::gemm;
  bool spins = computes() && request_.compute.kind == Kind::calibrated;
  for (auto one = layer.products.rbegin(); one != layer.products.rend(); ++one) {
    if (spins)
      spin(one->backward_flops() * static_cast<double>(samples) * ns_per_flop_);
    if (multiplies) {
      Shape of(*one, samples);
      std::uint64_t input =
          round_up(of.rows * of.k * of.batch * element_bytes(), k_product_alignment_bytes);
      std::uint64_t other =
          round_up(of.k * of.n * of.batch * element_bytes(), k_product_alignment_bytes);
      std::uint64_t result = of.rows * of.n * of.batch * element_bytes();
      bool with_weights = one->product.kind == Product::Kind::weights;
      // Input, other factor unless it is a parameter, gradient of the result.
      Slice second = with_weights ? weights(*one) : scratch(input, other);
      Slice gradient = scratch(input + (with_weights ? 0 : other), result);
      if (one->product.input_gradient)
        multiply(second, gradient, of.k, of.rows, of.n, of.batch, GemmLayout::nn);
      multiply(scratch(0, input), gradient, of.k, of.n, of.rows, of.batch, GemmLayout::nt);
    }
    if (!one->ready.empty())
      ready(one->ready);
  }
  if (!layer.ready.empty())
    ready(layer.ready);
}

void StepBuilder::convert(int stream, Slice from, DataType from_type, Slice into,
                          DataType into_type, std::uint64_t count) {
  push(ConvertOp{stream, from, into, count, from_type, into_type});
}

void StepBuilder::collective(Collective what, const std::vector<int>& groups, int stream,
                             Slice send, Slice receive, std::uint64_t count, DataType type) {
  for (int group : groups)
    push(Operation{CollectiveOp{what, group, stream, send, receive, count, type}, {}});
}

void StepBuilder::fill(Collective what, const std::vector<int>& groups, Slice at,
                       std::uint64_t count, DataType type) {
  if (groups.empty())
    fill_working(at, count, type);
  for (int group : groups)
    schedule_.fills.push_back({group, at, count, type, ReduceOp::sum, what});
}

void StepBuilder::check(Collective what, const std::vector<int>& groups, Slice at,
                        std::uint64_t count, DataType type) {
  for (int group : groups)
    schedule_.checks.push_back({what, group, at, count, type});
}

void StepBuilder::check_from(int distance, const std::vector<int>& groups, Slice at,
                             std::uint64_t count, DataType type, std::vector<int> ranks) {
  for (int group : groups) {
    DataCheck one{Collective::all_to_all_v, group, at, count, type};
    one.distance = distance;
    one.ranks = ranks;
    schedule_.checks.push_back(std::move(one));
  }
}

void StepBuilder::fill_working(Slice at, std::uint64_t count, DataType type, Signs signs) {
  // As for the input of an all_gather: any values of the type.
  schedule_.fills.push_back(
      {k_all_ranks, at, count, type, ReduceOp::sum, Collective::all_gather, 0, training_, signs});
}

void StepBuilder::fill_moments(int state, std::uint64_t parameters) {
  fill_working({state}, 2 * parameters, DataType::f32, Signs::none);
}

Schedule StepBuilder::finish() {
  schedule_.buffers[factors_].bytes = factor_bytes_;
  schedule_.buffers[results_].bytes = result_bytes_;
  if (factor_bytes_ > 0)
    fill_working({factors_}, factor_bytes_ / element_bytes(), type_);
  if (copies())
    add_input();
  for (BufferDecl& buffer : schedule_.buffers)
    for (int rank = 0; rank < scope_.world; ++rank)
      if (!names_rank(training_, rank))
        buffer.bytes.exceptions[rank] = 0; // it does not train
  return std::move(schedule_);
}

} // namespace ncclprobe::workload
