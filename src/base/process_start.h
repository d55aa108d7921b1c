// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace ncclprobe::base {

// To be called first in main.
//
// Opens /dev/null for each closed standard stream: otherwise the next opened file would get its
// number, and messages would be written into that file. Standard output is opened read-only, so
// writing results to it fails as it should.
//
// Ignores SIGXFSZ: writing beyond `ulimit -f` then fails with EFBIG instead of killing the process.
void prepare_process();

// Gives SIGXFSZ back what it did before prepare_process(). To be called before another program
// takes this one's place (exec), because it would inherit what is ignored.
void restore_signals();

} // namespace ncclprobe::base
