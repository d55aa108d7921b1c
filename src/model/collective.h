// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/enum_names.h"

namespace ncclprobe::model {

// What a group of ranks does together. send_recv is the neighbour ring of nccl-tests' sendrecv:
// each rank sends to the next and receives from the previous.
enum class Collective {
  all_reduce,
  all_gather,
  reduce_scatter,
  broadcast,
  reduce,
  all_to_all,
  gather,
  scatter,
  send_recv,
};

constexpr auto enum_names(Collective) {
  using enum Collective;
  return std::to_array<std::pair<Collective, std::string_view>>({
      {all_reduce, "all_reduce"},
      {all_gather, "all_gather"},
      {reduce_scatter, "reduce_scatter"},
      {broadcast, "broadcast"},
      {reduce, "reduce"},
      {all_to_all, "all_to_all"},
      {gather, "gather"},
      {scatter, "scatter"},
      {send_recv, "send_recv"},
  });
}

// True if the operation combines elements, so that a ReduceOp means something.
constexpr bool reduces(Collective collective) {
  return collective == Collective::all_reduce || collective == Collective::reduce_scatter ||
         collective == Collective::reduce;
}

// True if one rank is the source or the destination.
constexpr bool has_root(Collective collective) {
  return collective == Collective::broadcast || collective == Collective::reduce ||
         collective == Collective::gather || collective == Collective::scatter;
}

// How many blocks of `count` elements a rank's send and receive buffers hold, out of place, in a
// communicator of n ranks (the larger side; on a gather only the root needs the receive side).
struct BlockCounts {
  int send;
  int receive;
};
constexpr BlockCounts block_counts(Collective collective, int n) {
  switch (collective) {
  case Collective::all_gather:
  case Collective::gather:
    return {1, n};
  case Collective::reduce_scatter:
  case Collective::scatter:
    return {n, 1};
  case Collective::all_to_all:
    return {n, n};
  default:
    return {1, 1};
  }
}

} // namespace ncclprobe::model
