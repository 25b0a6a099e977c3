// SPDX-License-Identifier: Apache-2.0
// The page that --html names: opened before the work, so that an unwritable place is told at once,
// and written after it, with what it is a page of.
#pragma once

#include <memory>
#include <string>

#include "engine/result.h"
#include "scenarios/format/document/output_file.h"
#include "scenarios/format/provenance/provenance.h"

namespace orrery {

class PageFile {
public:
    // An empty name: no page.
    static Result<PageFile> open(const std::string& name);

    bool wanted() const { return file_ != nullptr; }
    Result<void> write(const std::string& html, const Provenance& provenance);

private:
    std::unique_ptr<OutputFile> file_;
};

}  // namespace orrery
