// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/enum_names.h"

namespace ncclprobe::model {

// What a group of ranks does together. Both as in nccl-tests: send_recv is a ring in which each
// rank sends to the next and receives from the previous; the blocks of all_to_all_v grow with the
// distance between two ranks, and hypercube is an all_gather in log2(n) exchanges of pairs. Stored
// by number: append only.
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
  all_to_all_v,
  hypercube,
};

// True if the operation combines elements and therefore has a ReduceOp.
constexpr bool reduces(Collective collective) {
  return collective == Collective::all_reduce || collective == Collective::reduce_scatter ||
         collective == Collective::reduce;
}

// False for collectives that a schedule expresses as sends and receives (in hypercube also copies).
constexpr bool is_one_call(Collective collective) {
  return collective != Collective::send_recv && collective != Collective::all_to_all_v &&
         collective != Collective::hypercube;
}

// True if one rank is the source or the destination.
constexpr bool has_root(Collective collective) {
  return collective == Collective::broadcast || collective == Collective::reduce ||
         collective == Collective::gather || collective == Collective::scatter;
}

// The number of blocks of `count` elements in a rank's send and receive buffers, out of place, in a
// communicator of n ranks. It is that of the larger side: in a gather only the root needs the
// receive side. For all_to_all_v `count` is the mean over the blocks.
struct BlockCounts {
  int send;
  int receive;
};
constexpr BlockCounts block_counts(Collective collective, int n) {
  switch (collective) {
  case Collective::all_gather:
  case Collective::gather:
  case Collective::hypercube:
    return {1, n};
  case Collective::reduce_scatter:
  case Collective::scatter:
    return {n, 1};
  case Collective::all_to_all:
  case Collective::all_to_all_v:
    return {n, n};
  default:
    return {1, 1};
  }
}

} // namespace ncclprobe::model
