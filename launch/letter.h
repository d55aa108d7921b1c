// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/error.h"
#include "launch/trial_report.h"
#include "wire/message.h"

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

// What supervisors say to each other, as the content of a Fleet's Mail. `trial` is the leader's
// running number: what is late for its trial is dropped.
namespace ncclprobe::launch {

// Leader -> all.
struct TrialOrder {
  std::string spec; // JSON
};
// The trial that will most likely be ordered next, under the letter's number.
struct Prepare {
  std::string spec; // JSON, to the byte what the order will say
};
enum class Haste { normal, fast };
// Whether the workers are first asked where they are.
enum class Ask { no, yes };
struct StopOrder {
  Haste haste = Haste::normal;
  Ask ask = Ask::no;
};
struct Release {};
struct ExchangeWhole {
  wire::Exchange exchange;
};
// Others have waited for you for as long as you may take: are you still there?
struct AreYouThere {};

// Before a traced trial: all compare their clocks now.
struct CompareClocks {};
// After it, everywhere: its spools are complete.
struct TraceOver {
  std::string spec; // JSON
};

// Of a file that was made for the trace, the bytes from there on; and at last that all have come.
struct SendPiece {
  std::string file;
  std::uint64_t offset = 0;
};
struct DropFile {
  std::string file;
};

// Either way: still at work on what the other waits for (signs_of_life.h).
struct StillHere {};

// All -> leader.
struct ExchangePart {
  wire::Exchange exchange; // contributions of all members that this supervisor has
};
struct ProgressNote {
  int cells_done = 0; // on all its ranks
  std::string phase;  // of its slowest rank
  int stage = 0;      // how far that phase is
};
struct Finished {};               // all its ranks have their results: what is left is teardown
struct TraceStored {              // the answer to TraceOver
  std::vector<std::string> files; // that were made
};
struct FilePiece { // to SendPiece
  std::string file;
  std::uint64_t offset = 0;
  std::string bytes;
  bool last = false;
  std::string problem; // why there are none
};

using LetterBody =
    std::variant<TrialOrder, StopOrder, Release, ExchangeWhole, ExchangePart, ProgressNote, Trouble,
                 TrialReport, Prepare, Finished, CompareClocks, TraceOver, TraceStored, SendPiece,
                 DropFile, FilePiece, AreYouThere, StillHere>;

constexpr int k_whole_run = 0; // instead of a trial's number: no trial is to come any more

struct Letter {
  int trial = k_whole_run;
  LetterBody body;
};

std::string encode(const Letter& letter);
// Errors: protocol (supervisors of different builds).
base::Result<Letter> decode_letter(std::string_view bytes);

} // namespace ncclprobe::launch
