// SPDX-License-Identifier: Apache-2.0
// Requests and answers of OpenAI's API as JSON: completions, chat completions, models, errors.
// Parsing and formatting only, without a network.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/result.h"
#include "runtime/data/tokenizer.h"
#include "runtime/generate.h"

namespace orrery {

struct ApiError {
    int status = 400;
    std::string message;
    std::string type = "invalid_request_error";
    std::string param{};  // name of the field; empty: null
    std::string code{};   // empty: null
};
std::string error_json(const ApiError& error);

// The served model.
struct ServedName {
    std::string model;
    std::int64_t adapters = 0;
    std::int64_t vocabulary = 0;  // clients may send ids below this
    std::int64_t context = 0;     // maximum of prompt and output tokens together
    Tokenizer tokenizer{};

    // -1: the model's.
    std::string name_of(std::int32_t adapter) const;
};

struct CompletionRequest {
    bool chat = false;
    std::vector<std::int32_t> prompt;
    std::int64_t max_tokens = 16;
    bool stream = false;
    bool include_usage = false;  // in an event of a stream
    DrawOptions draw{};
    std::vector<std::string> stops;
    std::int32_t adapter = -1;
};

// Parses a request. An unsupported field is an error if it would change the answer; other unknown
// fields are ignored.
tl::expected<CompletionRequest, ApiError> parse_completion(std::string_view body,
                                                           bool chat,
                                                           const ServedName& served,
                                                           std::uint64_t seed);

struct Usage {
    std::int64_t prompt_tokens = 0;
    std::int64_t completion_tokens = 0;
};

// The answers to one request, which share its id.
class CompletionAnswers {
public:
    CompletionAnswers(bool chat, std::string model, std::uint64_t number, std::int64_t created_s);

    // The whole answer. `reason` is "stop" or "length".
    std::string whole(const std::string& text, std::string_view reason, const Usage& usage) const;
    // Framed events of a stream: the role of a chat, a piece of text, the reason of the end, usage,
    // and the final mark.
    std::string begin() const;
    std::string piece(const std::string& text) const;
    std::string end(std::string_view reason) const;
    std::string usage(const Usage& usage) const;
    static std::string done();
    static std::string error(const ApiError& error);

private:
    bool chat_;
    std::string model_;
    std::string id_;
    std::int64_t created_s_;
};

std::string models_json(const ServedName& served, std::int64_t created_s);

}  // namespace orrery
