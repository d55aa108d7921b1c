// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "workload/fsdp_step.h"

#include "workload/tensor_parallel.h"

#include <algorithm>
#include <optional>

namespace ncclprobe::workload {
namespace {

using namespace model;

constexpr std::uint64_t k_aligned_elements = 128; // 256 bytes of the smallest type

std::uint64_t aligned(std::uint64_t elements) {
  return (elements + k_aligned_elements - 1) / k_aligned_elements * k_aligned_elements;
}

// Parameters that are gathered together.
struct Group {
  std::string name;
  std::vector<ParameterAt> parameters;
  ParameterLayout layout;
  std::uint64_t shard = 0;     // elements of a rank
  std::uint64_t first = 0;     // in the arrays of shards
  std::uint64_t unpacked = 0;  // in the array of whole parameters
  int slot = 0;                // of the gathered arrays
  std::optional<int> gathered; // event
};

class FsdpMaker {
public:
  FsdpMaker(const StepRequest& request, const StepScope& scope, const RankGrid& grid,
            const ModelSpec& part)
      : request_(request), scope_(scope), grid_(grid), model_(make_step_model(part)),
        build_(request, scope), tensor_(build_, request, grid, request.model),
        bytes_(build_.element_bytes()), ranks_(grid.replicas()) {
    make_groups();
    lay_out();
    build_.calibrate(model_, request.batch);
  }

  Schedule make() {
    build_.begin_step();
    for (int micro = 1; micro <= request_.accumulate; ++micro) {
      forward();
      backward(micro == request_.accumulate);
    }
    if (reduced_)
      build_.wait(compute, *reduced_);
    build_.share_found_inf(members_);
    optimize();
    build_.end_step();
    check();
    return build_.finish();
  }

private:
  static constexpr int compute = StepBuilder::compute;
  static constexpr int communication = StepBuilder::communication;

  bool shards() const { return ranks_ > 1; }
  bool communicates() const { return shards() && scope_.communicates(); }
  bool copies() const { return shards() && scope_.computes(); }

  // The root is first, blocks follow in their order.
  void make_groups() {
    groups_.push_back({"root"});
    for (const Layer& layer : model_.spec.layers) {
      if (layer.block < 0) {
        group_of_.push_back(0);
        continue;
      }
      auto number = static_cast<std::size_t>(layer.block) + 1;
      while (groups_.size() <= number)
        groups_.push_back({fmt::format("block {}", groups_.size() - 1)});
      group_of_.push_back(number);
    }
    for (std::size_t i = 0; i < group_of_.size(); ++i)
      for (std::size_t p = 0; p < model_.spec.layers[i].parameters.size(); ++p)
        groups_[group_of_[i]].parameters.push_back({i, p});
  }

  void lay_out() {
    std::uint64_t in_shards = 0, in_unpacked = 0;
    slots_ = static_cast<std::size_t>(request_.prefetch) + 1;
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      Group& group = groups_[g];
      group.layout = ParameterLayout(model_.spec, group.parameters, 1);
      group.shard = (group.layout.elements() + ranks_ - 1) / ranks_;
      group.first = in_shards;
      in_shards += aligned(group.shard);
      shard_elements_ += group.shard;
      whole_ = std::max(whole_, group.shard * ranks_);
      // Blocks share one place in turn, unless they are kept.
      bool kept = g == 0 || !request_.reshard;
      group.unpacked = kept || g == 1 ? in_unpacked : groups_[1].unpacked;
      in_unpacked = std::max(in_unpacked, group.unpacked + aligned(group.shard * ranks_));
      group.slot = static_cast<int>(g % slots_);
    }
    weight_elements_ = std::max(in_unpacked, largest_weights(model_));
    if (!shards())
      in_shards = std::max(in_shards, largest_weights(model_));
    own_elements_ = in_shards;
    auto sized = [this](bool wanted, std::uint64_t elements) {
      return wanted ? elements * bytes_ : 0;
    };
    optimizes_ = scope_.computes() && request_.optimizer;
    shards_ = build_.add_buffer("shards", in_shards * bytes_, request_.memory);
    reduced_shards_ = build_.add_buffer("gradient shards", in_shards * bytes_, request_.memory);
    state_ = build_.add_buffer("state", optimizes_ ? 2 * shard_elements_ * sizeof(float) : 0);
    unpacked_ = build_.add_buffer("parameters", sized(copies(), weight_elements_));
    gradients_ = build_.add_buffer("gradients", sized(copies(), whole_));
    packed_ = build_.add_buffer("packed gradients", sized(shards(), whole_), request_.memory);
    for (std::size_t slot = 0; slot < slots_; ++slot)
      gathered_.push_back(build_.add_buffer(fmt::format("gathered {}", slot),
                                            sized(shards(), whole_), request_.memory));
    free_.resize(slots_);
    if (communicates())
      members_ = build_.add_groups("data parallel", grid_.data_groups);
    fill();
  }

  Slice own(int buffer, const Group& group) const { return {buffer, group.first * bytes_}; }
  // The sources of copies, so communicated data stays as it was written.
  int gradient_source() const { return copies() ? gradients_ : packed_; }

  void fill() {
    // The optimizer must read valid numbers everywhere, also between groups.
    if (optimizes_ || (scope_.computes() && !shards()))
      for (int buffer : {shards_, reduced_shards_})
        build_.fill_working({buffer}, own_elements_, build_.type());
    for (const Group& group : groups_)
      if (group.shard > 0 && shards())
        build_.fill(Collective::all_gather, members_, own(shards_, group), group.shard,
                    build_.type());
    if (shards())
      build_.fill(Collective::reduce_scatter, members_, {gradient_source()}, whole_, build_.type());
    if (copies()) {
      build_.fill_working({unpacked_}, weight_elements_, build_.type());
      if (members_.empty()) {
        build_.fill_working({reduced_shards_}, own_elements_, build_.type());
        for (int buffer : gathered_)
          build_.fill_working({buffer}, whole_, build_.type());
      }
    }
    if (optimizes_)
      build_.fill_moments(state_, shard_elements_);
  }

  // The last groups that were gathered into each array are still present.
  void check() {
    for (const Group& group : groups_)
      if (group.shard > 0)
        build_.check(Collective::reduce_scatter, members_, own(reduced_shards_, group), group.shard,
                     build_.type());
    for (std::size_t slot = 0; slot < slots_; ++slot)
      if (last_.size() > slot && last_[slot])
        build_.check(Collective::all_gather, members_, {gathered_[slot]},
                     groups_[*last_[slot]].shard, build_.type());
  }

  StepBuilder::Weights weights() {
    return [this](const StepProduct& product) -> Slice {
      const Group& group =
          product.weights ? groups_[group_of_[product.weights->layer]] : groups_[0];
      std::uint64_t available = shards() ? weight_elements_ : own_elements_;
      std::uint64_t at = shards() ? group.unpacked : group.first;
      at += group.layout.place(product, group.layout.elements());
      if (at + product.weight_elements() > available)
        at = 0;
      return {shards() ? unpacked_ : shards_, at * bytes_};
    };
  }

  void gather(std::size_t number) {
    Group& group = groups_[number];
    auto slot = static_cast<std::size_t>(group.slot);
    if (!communicates() || group.shard == 0 || group.gathered)
      return;
    if (request_.prefetch == 0 || !began_)
      build_.follow(communication, compute);
    else if (free_[slot])
      build_.wait(communication, *free_[slot]);
    began_ = true;
    build_.enter(communication, Activity::communication, "gather " + group.name);
    build_.collective(Collective::all_gather, members_, communication, own(shards_, group),
                      {gathered_[slot]}, group.shard, build_.type());
    build_.leave(communication);
    group.gathered = build_.record(communication);
    last_.resize(slots_);
    last_[slot] = number;
  }

  // The compute stream may use its parameters.
  void use(std::size_t number) {
    Group& group = groups_[number];
    gather(number);
    if (group.gathered)
      build_.wait(compute, *group.gathered);
    group.gathered.reset();
    if (copies() && group.shard > 0) {
      build_.enter(compute, Activity::prepare, "unpack " + group.name);
      build_.convert(compute, {gathered_[group.slot]}, build_.type(),
                     {unpacked_, group.unpacked * bytes_}, build_.type(), group.layout.elements());
      build_.leave(compute);
    }
    if (communicates())
      free_[group.slot] = build_.record(compute);
  }

  void forward() {
    use(0);
    std::size_t inside = 0; // group of the previous layer
    for (std::size_t i = 0; i < model_.layers.size(); ++i) {
      std::size_t number = group_of_[i];
      if (number != inside && number != 0) {
        use(number);
        for (int ahead = 1; ahead <= request_.prefetch; ++ahead)
          if (number + static_cast<std::size_t>(ahead) < groups_.size())
            gather(number + static_cast<std::size_t>(ahead));
      }
      inside = number;
      tensor_.before(i, Activity::forward, request_.batch);
      build_.expect(compute, Activity::forward, "forward " + groups_[number].name);
      build_.forward(model_.layers[i], request_.batch, weights());
      tensor_.after(i, Activity::forward, request_.batch);
    }
    build_.leave(compute);
  }

  void gather_before(std::size_t number) {
    for (int ahead = 1; request_.reshard && ahead <= request_.prefetch; ++ahead)
      if (number > static_cast<std::size_t>(ahead))
        gather(number - static_cast<std::size_t>(ahead));
  }

  void backward(bool synchronized) {
    gather_before(groups_.size());
    std::size_t inside = 0;
    for (std::size_t i = model_.layers.size(); i-- > 0;) {
      std::size_t number = group_of_[i];
      if (number != inside) {
        if (inside != 0 && synchronized)
          reduce(inside);
        if (number != 0 && request_.reshard) {
          use(number);
          gather_before(number);
        }
      }
      inside = number;
      tensor_.before(i, Activity::backward, request_.batch);
      build_.expect(compute, Activity::backward, "backward " + groups_[number].name);
      build_.backward(model_.layers[i], request_.batch, weights(), [](const auto&) {});
      tensor_.after(i, Activity::backward, request_.batch);
    }
    if (inside != 0 && synchronized)
      reduce(inside);
    if (synchronized)
      reduce(0);
    build_.leave(compute);
  }

  void reduce(std::size_t number) {
    Group& group = groups_[number];
    if (!shards() || group.shard == 0)
      return;
    if (reduced_)
      build_.wait(compute, *reduced_);
    if (copies()) {
      build_.enter(compute, Activity::prepare, "pack " + group.name);
      build_.convert(compute, {gradients_}, build_.type(), {packed_}, build_.type(),
                     group.shard * ranks_);
      build_.leave(compute);
    }
    if (!communicates())
      return;
    build_.follow(communication, compute);
    build_.enter(communication, Activity::communication, "reduce " + group.name);
    build_.collective(Collective::reduce_scatter, members_, communication, {packed_},
                      own(reduced_shards_, group), group.shard, build_.type());
    build_.leave(communication);
    reduced_ = build_.record(communication);
  }

  void optimize() {
    if (!optimizes_)
      return;
    build_.enter(compute, Activity::optimizer, "optimizer");
    build_.push(OptimizerOp{
        compute, {reduced_shards_}, {shards_}, {state_}, shard_elements_, build_.type()});
    build_.leave(compute);
  }

  const StepRequest& request_;
  const StepScope& scope_;
  const RankGrid& grid_;
  StepModel model_;
  StepBuilder build_;
  TensorParallel tensor_;
  std::uint64_t bytes_; // of an element
  std::uint64_t ranks_; // that share the parameters
  std::vector<Group> groups_;
  std::vector<std::size_t> group_of_; // by layer
  std::size_t slots_ = 1;
  std::uint64_t shard_elements_ = 0, own_elements_ = 0, weight_elements_ = 0, whole_ = 0;
  bool optimizes_ = false, began_ = false;
  int shards_ = 0, reduced_shards_ = 0, state_ = 0, unpacked_ = 0, gradients_ = 0, packed_ = 0;
  std::vector<int> gathered_;
  std::vector<std::optional<int>> free_;         // by slot: event after which it may be written
  std::vector<std::optional<std::size_t>> last_; // by slot: group
  std::vector<int> members_;
  std::optional<int> reduced_; // event of the last reduce_scatter
};

} // namespace

Result<Schedule> make_fsdp_step(const StepRequest& request, const StepScope& scope) {
  NCCLPROBE_TRY_ASSIGN(const RankGrid grid, make_rank_grid(request, scope.ranks));
  NCCLPROBE_TRY_ASSIGN(const ModelSpec part, tensor_parallel_part(request.model, grid.tensor));
  return FsdpMaker(request, scope, grid, part).make();
}

} // namespace ncclprobe::workload
