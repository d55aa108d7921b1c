// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "workload/pipeline_step.h"

#include "workload/step_builder.h"

#include <algorithm>
#include <numeric>

namespace ncclprobe::workload {
namespace {

using namespace model;

double layer_flops(const StepLayer& layer) {
  return std::accumulate(
      layer.products.begin(), layer.products.end(), 0.0,
      [](double sum, const StepProduct& product) { return sum + product.forward_flops(); });
}

class PipelineMaker {
public:
  PipelineMaker(const StepRequest& request, const StepScope& scope, int micro_batches,
                std::vector<std::pair<std::size_t, std::size_t>> stages)
      : request_(request), scope_(scope), model_(make_step_model(request.model)),
        build_(request, scope), stages_(std::move(stages)), ranks_(scope.ranks),
        micro_batches_(micro_batches),
        samples_(request.batch / static_cast<std::uint64_t>(micro_batches)) {
    std::ranges::sort(ranks_);
    lay_out();
    build_.calibrate(model_, request.batch);
  }

  Schedule make() {
    build_.begin_step();
    for (stage_ = 0; stage_ < count(); ++stage_) {
      build_.act_as({ranks_[stage_]});
      request_.order == PipelineOrder::gpipe ? gpipe() : one_f_one_b();
      optimize();
      build_.leave(compute);
    }
    build_.act_as({});
    build_.end_step();
    return build_.finish();
  }

private:
  static constexpr int compute = StepBuilder::compute;
  static constexpr int communication = StepBuilder::communication;

  int count() const { return static_cast<int>(stages_.size()); }
  bool is_last() const { return stage_ + 1 == count(); }
  bool is_first() const { return stage_ == 0; }

  // Output elements of a stage per micro-batch.
  std::uint64_t output(int stage) const {
    const auto& [first, last] = stages_[stage];
    return model_.spec.layers[last - 1].output_elements * samples_;
  }

  void lay_out() {
    std::uint64_t parameters = 0, largest = 0;
    for (const auto& [first, last] : stages_) {
      std::vector<ParameterAt> own;
      for (std::size_t layer = first; layer < last; ++layer)
        for (std::size_t i = 0; i < model_.spec.layers[layer].parameters.size(); ++i)
          own.push_back({layer, i});
      layouts_.emplace_back(model_.spec, own, 128);
      parameters = std::max(parameters, layouts_.back().elements());
    }
    for (int stage = 0; stage + 1 < count(); ++stage)
      largest = std::max(largest, output(stage));
    elements_ = std::max(parameters, largest_weights(model_));
    std::uint64_t bytes = build_.element_bytes();
    auto sized = [](bool wanted, std::uint64_t size) { return wanted ? size : 0; };
    bool computes = scope_.computes();
    bool optimizes = computes && request_.optimizer;
    weights_ = build_.add_buffer("weights", sized(computes, elements_ * bytes));
    state_ = build_.add_buffer("state", sized(optimizes, 2 * parameters * sizeof(float)));
    gradients_ = build_.add_buffer("gradients", sized(computes, parameters * bytes));
    if (computes)
      build_.fill_working({weights_}, elements_, build_.type());
    if (optimizes) {
      build_.fill_moments(state_, parameters);
      build_.fill_working({gradients_}, parameters, build_.type());
    }
    if (!scope_.communicates())
      return;
    group_ = build_.add_groups("pipeline", {ranks_});
    auto add = [&](const char* name) {
      return build_.add_buffer(name, largest * bytes, request_.memory);
    };
    sent_forward_ = add("activations sent");
    got_forward_ = add("activations received");
    sent_backward_ = add("gradients sent");
    got_backward_ = add("gradients received");
    for (int buffer : {sent_forward_, sent_backward_})
      build_.fill(Collective::all_to_all_v, group_, {buffer}, largest, build_.type());
    // From the previous stage and from the next one, which also holds for all others in a ring.
    for (int stage = 0; stage < count(); ++stage) {
      std::vector<int> rank{ranks_[stage]};
      if (stage > 0)
        build_.check_from(1, group_, {got_forward_}, output(stage - 1), build_.type(), rank);
      if (stage + 1 < count())
        build_.check_from(count() - 1, group_, {got_backward_}, output(stage), build_.type(), rank);
    }
  }

  enum Transfer : unsigned {
    receive_forward = 1,
    send_forward = 2,
    receive_backward = 4,
    send_backward = 8
  };

  // The transfers that this stage has, as one group.
  void transfer(unsigned what, const std::string& label) {
    if (is_first())
      what &= ~static_cast<unsigned>(receive_forward | send_backward);
    if (is_last())
      what &= ~static_cast<unsigned>(send_forward | receive_backward);
    if (what == 0 || group_.empty())
      return;
    build_.follow(communication, compute);
    build_.enter(communication, Activity::communication, label);
    build_.push(GroupBeginOp{});
    if (what & send_forward)
      send(sent_forward_, output(stage_), stage_ + 1);
    if (what & send_backward)
      send(sent_backward_, output(stage_ - 1), stage_ - 1);
    if (what & receive_forward)
      receive(got_forward_, output(stage_ - 1), stage_ - 1);
    if (what & receive_backward)
      receive(got_backward_, output(stage_), stage_ + 1);
    build_.push(GroupEndOp{});
    build_.leave(communication);
    build_.follow(compute, communication);
  }
  void send(int buffer, std::uint64_t elements, int stage) {
    build_.push(SendOp{group_.front(),
                       communication,
                       {buffer},
                       elements,
                       build_.type(),
                       {Peer::Kind::absolute, stage}});
  }
  void receive(int buffer, std::uint64_t elements, int stage) {
    build_.push(RecvOp{group_.front(),
                       communication,
                       {buffer},
                       elements,
                       build_.type(),
                       {Peer::Kind::absolute, stage}});
  }

  StepBuilder::Weights weights() const {
    return [this](const StepProduct& product) -> Slice {
      const ParameterLayout& layout = layouts_[stage_];
      return {weights_, layout.place(product, elements_) * build_.element_bytes()};
    };
  }

  void forward(int micro) {
    build_.expect(compute, Activity::forward, fmt::format("forward {}", micro));
    const auto& [first, last] = stages_[stage_];
    for (std::size_t layer = first; layer < last; ++layer)
      build_.forward(model_.layers[layer], samples_, weights());
    build_.leave(compute);
  }

  void backward(int micro) {
    build_.expect(compute, Activity::backward, fmt::format("backward {}", micro));
    const auto& [first, last] = stages_[stage_];
    for (std::size_t layer = last; layer-- > first;)
      build_.backward(model_.layers[layer], samples_, weights(), [](const auto&) {});
    build_.leave(compute);
  }

  void gpipe() {
    for (int i = 0; i < micro_batches_; ++i) {
      transfer(receive_forward, fmt::format("receive forward {}", i));
      forward(i);
      transfer(send_forward, fmt::format("send forward {}", i));
    }
    for (int i = 0; i < micro_batches_; ++i) {
      transfer(receive_backward, fmt::format("receive backward {}", i));
      backward(i);
      transfer(send_backward, fmt::format("send backward {}", i));
    }
  }

  void one_f_one_b() {
    int ahead = std::min(count() - 1 - stage_, micro_batches_);
    for (int i = 0; i < ahead; ++i) {
      transfer(receive_forward, fmt::format("receive forward {}", i));
      forward(i);
      transfer(send_forward, fmt::format("send forward {}", i));
    }
    int rest = micro_batches_ - ahead;
    if (rest > 0)
      transfer(receive_forward, fmt::format("receive forward {}", ahead));
    for (int i = 0; i < rest; ++i) {
      bool more = i + 1 < rest;
      forward(ahead + i);
      transfer(send_forward | receive_backward,
               fmt::format("send forward {} receive backward {}", ahead + i, i));
      backward(i);
      transfer(send_backward | (more ? receive_forward : 0U),
               more ? fmt::format("send backward {} receive forward {}", i, ahead + i + 1)
                    : fmt::format("send backward {}", i));
    }
    for (int i = rest; i < micro_batches_; ++i) {
      transfer(receive_backward, fmt::format("receive backward {}", i));
      backward(i);
      transfer(send_backward, fmt::format("send backward {}", i));
    }
  }

  void optimize() {
    const auto& [first, last] = stages_[stage_];
    std::uint64_t parameters = 0;
    for (std::size_t layer = first; layer < last; ++layer)
      for (const Parameter& one : model_.spec.layers[layer].parameters)
        parameters += one.elements;
    if (!scope_.computes() || !request_.optimizer || parameters == 0)
      return;
    build_.enter(compute, Activity::optimizer, "optimizer");
    build_.push(
        OptimizerOp{compute, {gradients_}, {weights_}, {state_}, parameters, build_.type()});
  }

  const StepRequest& request_;
  const StepScope& scope_;
  StepModel model_;
  StepBuilder build_;
  std::vector<std::pair<std::size_t, std::size_t>> stages_;
  std::vector<int> ranks_;
  int micro_batches_;
  std::uint64_t samples_; // of a micro-batch
  std::vector<ParameterLayout> layouts_;
  std::uint64_t elements_ = 0;
  std::vector<int> group_;
  int weights_ = 0, state_ = 0, gradients_ = 0;
  int sent_forward_ = 0, got_forward_ = 0, sent_backward_ = 0, got_backward_ = 0;
  int stage_ = 0;
};

Result<int> micro_batches(const StepRequest& request, int stages) {
  auto batch = static_cast<int>(std::min<std::uint64_t>(request.batch, 1U << 20));
  if (request.micro_batches == 0) {
    int most = std::min(batch, 2 * stages);
    while (batch % most != 0)
      --most;
    return stages == 1 ? 1 : most;
  }
  if (batch % request.micro_batches != 0)
    return fail(Errc::unsupported, "a batch of {} does not divide into {} micro-batches", batch,
                request.micro_batches);
  return request.micro_batches;
}

} // namespace

std::vector<std::pair<std::size_t, std::size_t>> pipeline_stages(const ModelSpec& model,
                                                                 int stages) {
  // Possible cuts, and the work before each.
  StepModel step = make_step_model(model);
  std::vector<std::size_t> cuts;
  std::vector<double> before;
  double sum = 0;
  bool has_blocks =
      std::ranges::any_of(model.layers, [](const Layer& layer) { return layer.block >= 0; });
  bool inside = false; // the first block has come
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    int block = model.layers[i].block;
    // Layers outside the blocks belong to the first and the last stage.
    bool begins_block = inside && block >= 0 && block != model.layers[i - 1].block;
    inside = inside || block >= 0;
    if (has_blocks ? begins_block : i > 0) {
      cuts.push_back(i);
      before.push_back(sum);
    }
    sum += layer_flops(step.layers[i]);
  }
  std::vector<std::pair<std::size_t, std::size_t>> made;
  std::size_t first = 0, next = 0;
  for (int stage = 1; stage < stages && next < cuts.size(); ++stage) {
    double target = sum * stage / stages;
    // Leave enough cuts for the remaining stages.
    std::size_t most =
        cuts.size() - std::min(cuts.size(), static_cast<std::size_t>(stages - 1 - stage));
    std::size_t best = next;
    for (std::size_t cut = next; cut < most; ++cut)
      if (std::abs(before[cut] - target) < std::abs(before[best] - target))
        best = cut;
    made.push_back({first, cuts[best]});
    first = cuts[best];
    next = best + 1;
  }
  made.push_back({first, model.layers.size()});
  return made;
}

Result<Schedule> make_pipeline_step(const StepRequest& request, const StepScope& scope) {
  if (request.accumulate > 1)
    return fail(Errc::unsupported, "a pipeline accumulates over its micro-batches: give "
                                   "--micro-batches in place of --accumulate");
  auto stages = pipeline_stages(request.model, scope.size());
  if (static_cast<int>(stages.size()) < scope.size())
    return fail(Errc::unsupported, "{} can be cut into {} stages, not into {}", request.model.name,
                stages.size(), scope.size());
  NCCLPROBE_TRY_ASSIGN(const int parts, micro_batches(request, scope.size()));
  return PipelineMaker(request, scope, parts, std::move(stages)).make();
}

} // namespace ncclprobe::workload
