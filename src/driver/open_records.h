// Where measured times are kept (kernel/records.h).
#pragma once

#include <string>

#include "kernel/records.h"

namespace isomer {

/// In the file; none given: isomer/records.sqlite in the user's cache, or, where there can be none, in memory.
Result<kernel::Records> open_records(const std::string& file);

/// The same for who only reads, or removes: a file that is named is there, or it is an error.
Result<kernel::Records> open_known_records(const std::string& file);

/// What code is made by that was tuned here: another text once the user's records have another schedule that is the
/// best of its task. None where they can't be read.
std::string tuned_here();

/// The same file for who works for nothing but what it keeps: it is made now, where it can be, and not after hours.
/// Errors, now and whenever it is written to: it can't be.
Result<kernel::Records> open_records_to_keep(const std::string& file);

}  // namespace isomer
