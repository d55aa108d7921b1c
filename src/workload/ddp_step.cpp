// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "workload/ddp_step.h"

#include "workload/expert_parallel.h"
#include "workload/models/ddp_buckets.h"
#include "workload/tensor_parallel.h"

#include <algorithm>
#include <map>
#include <optional>

namespace ncclprobe::workload {
namespace {

using namespace model;

constexpr std::uint64_t k_alignment_bytes = 256; // alignment of a separate tensor; PyTorch's is 512

struct Bucket {
  DdpBucket of;
  std::uint64_t first = 0; // element in the buffer of buckets
  std::size_t missing = 0; // gradients
  std::optional<int> reduced;

  std::string name(const char* what, std::size_t number) const {
    return fmt::format("{}bucket {}", what, number);
  }
};

class DdpMaker {
public:
  // `part`: a rank's part of the model. `reduced`: the same, without parameters that other ranks
  // lack.
  DdpMaker(const StepRequest& request, const StepScope& scope, const RankGrid& grid,
           const ModelSpec& part, const ModelSpec& reduced)
      : request_(request), scope_(scope), grid_(grid), model_(make_step_model(part)),
        reduced_(reduced), build_(request, scope), tensor_(build_, request, grid, request.model),
        experts_(build_, request, scope, part), bytes_(build_.element_bytes()) {
    lay_out();
  }

  Schedule make() {
    if (compressed() && scope_.computes())
      widen_inputs();
    build_.begin_step();
    for (int micro = 1; micro <= request_.accumulate; ++micro)
      pass(micro == request_.accumulate);
    finish_buckets();
    build_.share_found_inf(groups_);
    optimize();
    build_.end_step();
    if (compressed() && scope_.communicates() && scope_.computes())
      narrow_results();
    return build_.finish();
  }

private:
  bool in_view() const { return request_.bucket_view || !synchronizes(); }
  bool synchronizes() const { return grid_.replicas() > 1; }
  bool compressed() const { return request_.compression != Compression::none && synchronizes(); }
  DataType reduced_type() const {
    if (!compressed())
      return build_.type();
    return request_.compression == Compression::bf16 ? DataType::bf16 : DataType::f16;
  }

  Slice in_buckets(std::uint64_t element) const { return {buckets_buffer_, element * bytes_}; }
  Slice in_compressed(std::uint64_t element) const {
    return {compressed_buffer_, element * size_bytes(reduced_type())};
  }
  Slice in_gradients(ParameterAt at) const {
    return {gradients_buffer_, gradients_.offset(at) * bytes_};
  }
  Slice in_reduced(std::uint64_t element) const {
    return compressed() ? in_compressed(element) : in_buckets(element);
  }

  // Calls `use(gradient, its place among all buckets)` for each gradient of a bucket.
  template <typename Use>
  void each_gradient(const Bucket& bucket, Use use) const {
    std::uint64_t element = bucket.first;
    for (ParameterAt at : bucket.of.parameters) {
      std::uint64_t count = parameter_at(model_.spec, at).elements;
      use(at, element, count);
      element += count;
    }
  }

  void lay_out() {
    DdpOptions options = ddp_options(request_.bucket_bytes);
    options.type = build_.type();
    std::uint64_t element = 0;
    std::uint64_t alignment = k_alignment_bytes / 2; // elements: of each type that is reduced
    for (DdpBucket& one : ddp_buckets(reduced_, options)) {
      for (ParameterAt at : one.parameters)
        bucket_of_[{at.layer, at.parameter}] = buckets_.size();
      std::uint64_t count = one.elements;
      buckets_.push_back({std::move(one), element});
      element = (element + count + alignment - 1) / alignment * alignment;
    }
    own_first_ = element;
    element += model_.spec.parameter_count() - reduced_.parameter_count();
    bucket_elements_ = element;
    std::vector<ParameterAt> order = arrival_order(model_.spec);
    weights_ = ParameterLayout(model_.spec, order, k_alignment_bytes / bytes_);
    gradients_ = weights_;
    bool computes = scope_.computes();
    auto sized = [](bool wanted, std::uint64_t bytes) { return wanted ? bytes : 0; };
    weight_elements_ = std::max(weights_.elements(), largest_weights(model_));
    weights_buffer_ = build_.add_buffer("weights", sized(computes, weight_elements_ * bytes_));
    optimizes_ = computes && request_.optimizer;
    std::uint64_t count = model_.spec.parameter_count();
    state_buffer_ = build_.add_buffer("state", sized(optimizes_, 2 * count * sizeof(float)));
    bool has_gradients = computes && !in_view();
    gradients_buffer_ =
        build_.add_buffer("gradients", sized(has_gradients, gradients_.elements() * bytes_));
    bool has_buckets = computes || !compressed();
    buckets_buffer_ = build_.add_buffer("buckets", sized(has_buckets, element * bytes_),
                                        compressed() ? Memory::plain : request_.memory);
    compressed_buffer_ = build_.add_buffer(
        "compressed", sized(compressed(), element * size_bytes(reduced_type())), request_.memory);
    if (scope_.communicates())
      groups_ = build_.add_groups("data parallel", grid_.data_groups);
    if (compressed() && computes)
      back_stream_ = build_.add_stream("decompression", 0);
    fill_and_check();
    build_.calibrate(model_, request_.batch);
  }

  void fill_and_check() {
    if (scope_.computes())
      build_.fill_working({weights_buffer_}, weight_elements_, build_.type());
    if (optimizes_)
      build_.fill_moments(state_buffer_, model_.spec.parameter_count());
    // The optimizer must read valid numbers everywhere: in gradients that no other rank has, and
    // between buckets and gradients.
    if (optimizes_)
      build_.fill_working({in_view() ? buckets_buffer_ : gradients_buffer_},
                          in_view() ? bucket_elements_ : gradients_.elements(), build_.type());
    for (const Bucket& bucket : buckets_) {
      bool whole = compressed() || !scope_.computes() || in_view();
      if (whole) {
        fill_and_check(in_reduced(bucket.first), bucket.of.elements);
        continue;
      }
      each_gradient(bucket, [&](ParameterAt at, std::uint64_t, std::uint64_t count) {
        fill_and_check(in_gradients(at), count);
      });
    }
  }
  void fill_and_check(Slice at, std::uint64_t count) {
    build_.fill(Collective::all_reduce, groups_, at, count, reduced_type());
    build_.check(Collective::all_reduce, groups_, at, count, reduced_type());
  }

  // Only values that are exact in the reduced type can be checked. The inputs are therefore written
  // in that type, and converted to gradients before each batch; afterwards the results are
  // converted back.
  void widen_inputs() {
    for (const Bucket& bucket : buckets_) {
      if (in_view())
        build_.convert(StepBuilder::compute, in_compressed(bucket.first), reduced_type(),
                       in_buckets(bucket.first), build_.type(), bucket.of.elements);
      else
        each_gradient(bucket, [&](ParameterAt at, std::uint64_t element, std::uint64_t count) {
          build_.convert(StepBuilder::compute, in_compressed(element), reduced_type(),
                         in_gradients(at), build_.type(), count);
        });
    }
  }
  void narrow_results() {
    for (const Bucket& bucket : buckets_) {
      if (in_view())
        build_.convert(StepBuilder::compute, in_buckets(bucket.first), build_.type(),
                       in_compressed(bucket.first), reduced_type(), bucket.of.elements);
      else
        each_gradient(bucket, [&](ParameterAt at, std::uint64_t element, std::uint64_t count) {
          build_.convert(StepBuilder::compute, in_gradients(at), build_.type(),
                         in_compressed(element), reduced_type(), count);
        });
    }
  }

  void pass(bool synchronized) {
    auto weights = [this](const StepProduct& product) {
      return Slice{weights_buffer_, weights_.place(product, weight_elements_) * bytes_};
    };
    for (Bucket& bucket : buckets_)
      bucket.missing = bucket.of.parameters.size();
    for (std::size_t i = 0; i < model_.layers.size(); ++i) {
      tensor_.before(i, Activity::forward, request_.batch);
      experts_.exchange(i, "dispatch", request_.batch);
      build_.expect(StepBuilder::compute, Activity::forward, "forward");
      build_.forward(model_.layers[i], request_.batch, weights);
      experts_.exchange(i, "combine", request_.batch);
      tensor_.after(i, Activity::forward, request_.batch);
    }
    expect_backward();
    for (std::size_t i = model_.layers.size(); i-- > 0;) {
      tensor_.before(i, Activity::backward, request_.batch);
      experts_.exchange(i, "combine backward", request_.batch);
      expect_backward();
      build_.backward(model_.layers[i], request_.batch, weights,
                      [&](const std::vector<ParameterAt>& ready) {
                        if (synchronized && synchronizes())
                          arrived(ready);
                      });
      experts_.exchange(i, "dispatch backward", request_.batch);
      tensor_.after(i, Activity::backward, request_.batch);
      expect_backward();
    }
    build_.leave(StepBuilder::compute);
  }

  void expect_backward() {
    build_.expect(StepBuilder::compute, Activity::backward, fmt::format("backward {}", stretch_));
  }

  void arrived(const std::vector<ParameterAt>& gradients) {
    for (ParameterAt at : gradients) {
      auto found = bucket_of_.find({at.layer, at.parameter});
      if (found == bucket_of_.end())
        continue; // no other rank has it
      std::size_t number = found->second;
      Bucket& bucket = buckets_[number];
      if (--bucket.missing > 0)
        continue;
      if (scope_.computes())
        prepare(number);
      if (scope_.communicates() || compressed())
        build_.follow(StepBuilder::communication, StepBuilder::compute);
      reduce(number);
      ++stretch_;
      expect_backward();
    }
  }

  // Copies its gradients into the bucket and divides them.
  void prepare(std::size_t number) {
    const Bucket& bucket = buckets_[number];
    build_.enter(StepBuilder::compute, Activity::prepare, bucket.name("fill ", number));
    if (!in_view() || !compressed())
      each_gradient(bucket, [&](ParameterAt at, std::uint64_t element, std::uint64_t count) {
        Slice from = in_view() ? in_buckets(element) : in_gradients(at);
        build_.convert(StepBuilder::compute, from, build_.type(), in_buckets(element),
                       build_.type(), count);
      });
    if (compressed()) {
      build_.convert(StepBuilder::compute, in_buckets(bucket.first), build_.type(),
                     in_compressed(bucket.first), reduced_type(), bucket.of.elements);
      // div_() of the hook
      build_.convert(StepBuilder::compute, in_compressed(bucket.first), reduced_type(),
                     in_compressed(bucket.first), reduced_type(), bucket.of.elements);
    }
    build_.leave(StepBuilder::compute);
  }

  void reduce(std::size_t number) {
    Bucket& bucket = buckets_[number];
    constexpr int stream = StepBuilder::communication;
    if (scope_.communicates()) {
      build_.enter(stream, Activity::communication, bucket.name("", number));
      Slice at = in_reduced(bucket.first);
      build_.collective(Collective::all_reduce, groups_, stream, at, at, bucket.of.elements,
                        reduced_type());
      build_.leave(stream);
      bucket.reduced = build_.record(stream);
    }
    if (back_stream_ < 0)
      return;
    build_.follow(back_stream_, stream);
    build_.enter(back_stream_, Activity::prepare, bucket.name("decompress ", number));
    build_.convert(back_stream_, in_compressed(bucket.first), reduced_type(),
                   in_buckets(bucket.first), build_.type(), bucket.of.elements);
    build_.leave(back_stream_);
    bucket.reduced = build_.record(back_stream_);
  }

  // The next step, or the optimizer, needs all of them.
  void finish_buckets() {
    for (std::size_t i = 0; synchronizes() && i < buckets_.size(); ++i) {
      if (buckets_[i].reduced)
        build_.wait(StepBuilder::compute, *buckets_[i].reduced);
      if (in_view() || !scope_.computes())
        continue;
      build_.enter(StepBuilder::compute, Activity::prepare, buckets_[i].name("unpack ", i));
      each_gradient(buckets_[i], [&](ParameterAt at, std::uint64_t element, std::uint64_t count) {
        build_.convert(StepBuilder::compute, in_buckets(element), build_.type(), in_gradients(at),
                       build_.type(), count);
      });
      build_.leave(StepBuilder::compute);
    }
  }

  void optimize() {
    if (!optimizes_)
      return;
    build_.enter(StepBuilder::compute, Activity::optimizer, "optimizer");
    Slice gradients{in_view() ? buckets_buffer_ : gradients_buffer_};
    // After a few steps, sums of sums overflow f16, and products with NaN weights would draw less
    // power. The optimizer therefore reads other numbers there, of the same size.
    if (synchronizes() && reduced_type() == DataType::f16)
      gradients = {weights_buffer_};
    build_.push(OptimizerOp{StepBuilder::compute,
                            gradients,
                            {weights_buffer_},
                            {state_buffer_},
                            model_.spec.parameter_count(),
                            build_.type()});
    build_.leave(StepBuilder::compute);
  }

  const StepRequest& request_;
  const StepScope& scope_;
  const RankGrid& grid_;
  StepModel model_;
  const ModelSpec& reduced_;
  StepBuilder build_;
  TensorParallel tensor_;
  ExpertParallel experts_;
  std::uint64_t bytes_; // of an element
  std::vector<Bucket> buckets_;
  std::map<std::pair<std::size_t, std::size_t>, std::size_t> bucket_of_; // by parameter
  ParameterLayout weights_, gradients_;
  std::uint64_t weight_elements_ = 0;
  std::uint64_t own_first_ = 0;       // after the buckets: gradients that are not reduced
  std::uint64_t bucket_elements_ = 0; // including those
  bool optimizes_ = false;
  int weights_buffer_ = 0, state_buffer_ = 0, gradients_buffer_ = 0, buckets_buffer_ = 0,
      compressed_buffer_ = 0;
  int back_stream_ = -1;
  std::vector<int> groups_;
  int stretch_ = 1; // of the backward pass; a full bucket ends it
};

} // namespace

Result<Schedule> make_ddp_step(const StepRequest& request, const StepScope& scope) {
  if (request.compression != Compression::none && data_type(request.type) != DataType::f32)
    return fail(Errc::unsupported, "gradients of {} are not compressed: leave it to f32",
                model::to_string(request.type));
  NCCLPROBE_TRY_ASSIGN(const RankGrid grid, make_rank_grid(request, scope.ranks));
  NCCLPROBE_TRY_ASSIGN(const ModelSpec part, tensor_parallel_part(request.model, grid.tensor));
  if (request.pattern != StepPattern::moe)
    return DdpMaker(request, scope, grid, part, part).make();
  NCCLPROBE_TRY_ASSIGN(const ModelSpec with_experts, expert_parallel_part(part, scope.size()));
  return DdpMaker(request, scope, grid, with_experts, without_experts(with_experts, scope.size()))
      .make();
}

} // namespace ncclprobe::workload
