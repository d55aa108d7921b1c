// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launch/supervisor/rank_set.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

// What supervisors pass on to each other in the tree: the content of the messages of a link
// (tree_fleet.h). The first byte is the kind.
namespace ncclprobe::launch {

enum class MailKind : char {
  direct = 'm', // for the receiver alone; the bytes follow
  down = 'd',   // from the leader to some below
  up = 'u',     // from some below to the leader
  adopt = 'a',  // from the leader: your parent is silent, from now on I am
};

// Bytes, and who contributed them: what is alike is kept and sent once.
using Parts = std::map<std::string, RankSet>;

struct Down {
  std::int64_t sequence = 0; // of the leader; what comes a second time on another way is dropped
  int gather = 0;            // the gather that it answers; 0: it is a message
  int trial = 0;
  RankSet to; // empty: all
  std::string bytes;
};
NCCLPROBE_FIELDS(Down, sequence, gather, trial, to, bytes)

struct DownBundle {
  std::vector<Down> messages; // by sequence
};
NCCLPROBE_FIELDS(DownBundle, messages)

// Reports of several supervisors in the same words.
struct Up {
  int gather = 0; // 0: it is a message
  int trial = 0;
  bool keep = false;
  RankSet from;
  std::string bytes;
  Parts parts;
};
NCCLPROBE_FIELDS(Up, gather, trial, keep, from, bytes, parts)

struct Bundle {
  std::vector<Up> reports;
};
NCCLPROBE_FIELDS(Bundle, reports)

// The result of a gather, sent to all: why it failed, or the bytes of each rank.
struct Gathered {
  std::string problem, hint;
  Parts parts;
};
NCCLPROBE_FIELDS(Gathered, problem, hint, parts)

std::string encode_mail(const DownBundle& bundle);
std::string encode_mail(const Bundle& bundle);

} // namespace ncclprobe::launch
