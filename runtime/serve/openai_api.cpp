// SPDX-License-Identifier: Apache-2.0
#include "runtime/serve/openai_api.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>

namespace orrery {
namespace {

using ApiJson = nlohmann::ordered_json;

constexpr std::size_t kMostStops = 4;       // as in OpenAI's API
constexpr std::size_t kLongestStop = 1024;  // bytes
constexpr double kHighestTemperature = 2;

std::string dumped(const ApiJson& json) {
    return json.dump(-1, ' ', false, ApiJson::error_handler_t::replace);
}

ApiJson error_object(const ApiError& error) {
    const auto or_null = [](const std::string& text) {
        return text.empty() ? ApiJson{} : ApiJson(text);
    };
    return {{"error",
             {{"message", error.message},
              {"type", error.type},
              {"param", or_null(error.param)},
              {"code", or_null(error.code)}}}};
}

// Reads fields and keeps the first error.
class FieldReader {
public:
    FieldReader(const ApiJson& json, ApiError& error) : json_(json), error_(error) {}

    bool good() const { return good_; }
    void complain(std::string field, std::string message, std::string code = {}) {
        if (good_) {
            good_ = false;
            error_ = {
                .message = std::move(message), .param = std::move(field), .code = std::move(code)};
        }
    }
    // Null if the field is absent or null.
    const ApiJson* find(const char* field) const {
        const auto found = json_.find(field);
        return found == json_.end() || found->is_null() ? nullptr : &*found;
    }
    void whole_number(const char* field, std::int64_t least, std::int64_t most, std::int64_t& to) {
        const ApiJson* value = find(field);
        if (value == nullptr) {
            return;
        }
        const bool fits = value->is_number_integer() &&
                          (!value->is_number_unsigned() ||
                           value->get<std::uint64_t>() <= static_cast<std::uint64_t>(most)) &&
                          value->get<std::int64_t>() >= least && value->get<std::int64_t>() <= most;
        if (!fits) {
            return complain(
                field, fmt::format("{} must be a whole number from {} to {}", field, least, most));
        }
        to = value->get<std::int64_t>();
    }
    void number(const char* field, double least, double most, double& to) {
        const ApiJson* value = find(field);
        if (value == nullptr) {
            return;
        }
        if (!value->is_number() ||
            !(value->get<double>() >= least && value->get<double>() <= most)) {
            return complain(field,
                            fmt::format("{} must be a number from {} to {}", field, least, most));
        }
        to = value->get<double>();
    }
    void truth(const char* field, bool& to) {
        const ApiJson* value = find(field);
        if (value != nullptr && !value->is_boolean()) {
            complain(field, fmt::format("{} must be true or false", field));
        } else if (value != nullptr) {
            to = value->get<bool>();
        }
    }
    // For a field that supports only one value.
    void only(const char* field, const ApiJson& supported) {
        const ApiJson* value = find(field);
        if (value != nullptr && *value != supported) {
            complain(field, fmt::format("{} is not supported; leave it out", field));
        }
    }

private:
    const ApiJson& json_;
    ApiError& error_;
    bool good_ = true;
};

void read_stops(FieldReader& reader, std::vector<std::string>& stops) {
    const ApiJson* stop = reader.find("stop");
    if (stop == nullptr) {
        return;
    }
    if (stop->is_string()) {
        stops = {stop->get<std::string>()};
    } else if (stop->is_array() && std::all_of(stop->begin(), stop->end(), [](const auto& one) {
                   return one.is_string();
               })) {
        stops = stop->get<std::vector<std::string>>();
    } else {
        return reader.complain("stop", "stop must be a text or a list of texts");
    }
    const bool good = stops.size() <= kMostStops &&
                      std::all_of(stops.begin(), stops.end(), [](const std::string& one) {
                          return !one.empty() && one.size() <= kLongestStop;
                      });
    if (!good) {
        reader.complain(
            "stop",
            fmt::format("stop has up to {} texts of 1 to {} bytes", kMostStops, kLongestStop));
    }
}

// The text of a message's content: a string, or a list of parts.
std::string content_of(const ApiJson& message, FieldReader& reader) {
    const auto content = message.find("content");
    if (content == message.end() || content->is_null()) {
        return {};
    }
    if (content->is_string()) {
        return content->get<std::string>();
    }
    std::string text;
    if (content->is_array()) {
        for (const ApiJson& part : *content) {
            if (!part.is_object() || part.value("type", ApiJson{}) != "text" ||
                !part.value("text", ApiJson{}).is_string()) {
                reader.complain("messages", "parts of a message's content must be texts");
                return {};
            }
            text += part["text"].get<std::string>();
        }
        return text;
    }
    reader.complain("messages", "a message's content must be a text");
    return {};
}

// A chat as one text: the models trained here have no chat template.
std::string text_of_messages(FieldReader& reader) {
    const ApiJson* messages = reader.find("messages");
    if (messages == nullptr || !messages->is_array() || messages->empty()) {
        reader.complain("messages", "messages must be a list with a message");
        return {};
    }
    std::string text;
    for (const ApiJson& message : *messages) {
        if (!message.is_object() || !message.value("role", ApiJson{}).is_string()) {
            reader.complain("messages", "a message must have a role and a content");
            return {};
        }
        text += message["role"].get<std::string>() + ": " + content_of(message, reader) + "\n";
    }
    return text + "assistant:";
}

void read_prompt(FieldReader& reader, const ServedName& served, CompletionRequest& request) {
    const ApiJson* prompt = reader.find("prompt");
    if (prompt != nullptr && prompt->is_array() && prompt->size() == 1 &&
        !prompt->front().is_number()) {
        prompt = &prompt->front();  // a batch of one
    }
    if (prompt == nullptr) {
        return reader.complain("prompt", "prompt is missing");
    }
    if (prompt->is_string()) {
        request.prompt = served.tokenizer.encode(prompt->get<std::string>());
        return;
    }
    if (!prompt->is_array()) {
        return reader.complain("prompt", "prompt must be a text or a list of token ids");
    }
    for (const ApiJson& id : *prompt) {
        if (!id.is_number_integer() || id < 0 || id >= served.vocabulary) {
            return reader.complain(
                "prompt",
                fmt::format("prompt must be one text or token ids below {}", served.vocabulary));
        }
        request.prompt.push_back(id.get<std::int32_t>());
    }
}

void check_length(FieldReader& reader,
                  const ServedName& served,
                  bool has_limit,
                  CompletionRequest& request) {
    const auto prompt = std::ssize(request.prompt);
    const char* const field = request.chat ? "messages" : "prompt";
    if (!reader.good()) {
        return;
    }
    if (prompt == 0) {
        return reader.complain(field, fmt::format("{} is empty", field));
    }
    if (std::ranges::any_of(request.prompt, [&](auto id) { return id >= served.vocabulary; })) {
        return reader.complain(field, "the text has tokens that the model's vocabulary has not");
    }
    if (request.chat && !has_limit) {
        request.max_tokens = std::max<std::int64_t>(1, served.context - prompt);
    }
    if (prompt + request.max_tokens > served.context) {
        reader.complain(
            field,
            fmt::format("the model's context is {} tokens, and the request has {} in the "
                        "prompt and up to {} in the completion",
                        served.context,
                        prompt,
                        request.max_tokens),
            "context_length_exceeded");
    }
}

void read_draw(FieldReader& reader, DrawOptions& draw) {
    constexpr std::int64_t kMany = 1'000'000'000;
    reader.number("temperature", 0, kHighestTemperature, draw.temperature);
    reader.whole_number("top_k", 0, kMany, draw.top_k);
    std::int64_t seed = -1;
    reader.whole_number("seed", 0, std::numeric_limits<std::int64_t>::max(), seed);
    if (seed >= 0) {
        draw.seed = static_cast<std::uint64_t>(seed);
    }
}

void refuse_others(FieldReader& reader) {
    for (const char* field : {"n", "best_of", "top_p"}) {
        reader.only(field, 1);
    }
    for (const char* field : {"frequency_penalty", "presence_penalty"}) {
        reader.only(field, 0);
    }
    for (const char* field : {"logprobs", "echo"}) {
        reader.only(field, false);
    }
    for (const char* field : {"logit_bias", "tools", "functions", "response_format", "suffix"}) {
        reader.only(field, ApiJson{});
    }
}

// Which adapter the client names; -1 for the model, or where it names nothing.
tl::expected<std::int32_t, ApiError> adapter_of(const ApiJson* name, const ServedName& served) {
    if (name == nullptr) {
        return -1;
    }
    if (*name == served.model) {
        return -1;
    }
    const std::string text = name->is_string() ? name->get<std::string>() : "";
    const std::size_t number = text.find_last_of('-') + 1;
    std::int32_t adapter = -1;
    const auto read = std::from_chars(text.data() + number, text.data() + text.size(), adapter);
    if (read.ec == std::errc{} && adapter >= 0 && adapter < served.adapters &&
        text == served.name_of(adapter)) {
        return adapter;
    }
    const std::string others =
        served.adapters == 0
            ? ""
            : fmt::format(", and its adapters are '{}' to '{}'",
                          served.name_of(0),
                          served.name_of(static_cast<std::int32_t>(served.adapters - 1)));
    return tl::unexpected(
        ApiError{.status = 404,
                 .message = fmt::format("the model here is '{}'{}", served.model, others),
                 .param = "model",
                 .code = "model_not_found"});
}

}  // namespace

std::string ServedName::name_of(std::int32_t adapter) const {
    return adapter < 0 ? model : fmt::format("{}/adapter-{}", model, adapter);
}

std::string error_json(const ApiError& error) {
    return dumped(error_object(error));
}

tl::expected<CompletionRequest, ApiError> parse_completion(std::string_view body,
                                                           bool chat,
                                                           const ServedName& served,
                                                           std::uint64_t seed) {
    const ApiJson json = ApiJson::parse(body, nullptr, false);
    if (!json.is_object()) {
        return tl::unexpected(ApiError{.message = json.is_discarded()
                                                      ? "the body is not valid JSON"
                                                      : "the body must be an object"});
    }
    ApiError error;
    FieldReader reader{json, error};
    const auto adapter = adapter_of(reader.find("model"), served);
    if (!adapter) {
        return tl::unexpected(adapter.error());
    }
    CompletionRequest request{
        .chat = chat, .draw = {.temperature = 1, .seed = seed}, .adapter = *adapter};
    request.draw.vocabulary = served.vocabulary;
    const char* const limit =
        reader.find("max_completion_tokens") != nullptr ? "max_completion_tokens" : "max_tokens";
    reader.whole_number(limit, 1, served.context, request.max_tokens);
    reader.truth("stream", request.stream);
    if (const ApiJson* options = reader.find("stream_options"); options != nullptr) {
        FieldReader fields{*options, error};
        fields.truth("include_usage", request.include_usage);
        if (!options->is_object() || !fields.good()) {
            reader.complain("stream_options", "stream_options has include_usage, true or false");
        }
    }
    read_draw(reader, request.draw);
    read_stops(reader, request.stops);
    refuse_others(reader);
    if (chat) {
        request.prompt = served.tokenizer.encode(text_of_messages(reader));
    } else {
        read_prompt(reader, served, request);
    }
    check_length(reader, served, reader.find(limit) != nullptr, request);
    if (!reader.good()) {
        return tl::unexpected(error);
    }
    return request;
}

CompletionAnswers::CompletionAnswers(bool chat,
                                     std::string model,
                                     std::uint64_t number,
                                     std::int64_t created_s)
    : chat_(chat),
      model_(std::move(model)),
      id_(fmt::format("{}-{}", chat ? "chatcmpl" : "cmpl", number)),
      created_s_(created_s) {}

namespace {

ApiJson usage_object(const Usage& usage) {
    return {{"prompt_tokens", usage.prompt_tokens},
            {"completion_tokens", usage.completion_tokens},
            {"total_tokens", usage.prompt_tokens + usage.completion_tokens}};
}

ApiJson answer_object(const std::string& id,
                      const char* object,
                      std::int64_t created_s,
                      const std::string& model) {
    return {{"id", id}, {"object", object}, {"created", created_s}, {"model", model}};
}

std::string event(const ApiJson& json) {
    return "data: " + dumped(json) + "\n\n";
}

// For a chat, `fields` are the changed fields of the message; otherwise `text` is the answer's
// text.
ApiJson chunk_object(
    bool chat, ApiJson answer, ApiJson fields, const std::string& text, std::string_view reason) {
    ApiJson choice{{"index", 0}};
    if (chat) {
        choice["delta"] = std::move(fields);
    } else {
        choice["text"] = text;
    }
    choice["logprobs"] = nullptr;
    choice["finish_reason"] = reason.empty() ? ApiJson{} : ApiJson(reason);
    answer["choices"] = ApiJson::array({std::move(choice)});
    return answer;
}

const char* chunk_name(bool chat) {
    return chat ? "chat.completion.chunk" : "text_completion";
}

}  // namespace

std::string CompletionAnswers::whole(const std::string& text,
                                     std::string_view reason,
                                     const Usage& usage) const {
    ApiJson answer =
        answer_object(id_, chat_ ? "chat.completion" : "text_completion", created_s_, model_);
    ApiJson choice{{"index", 0}};
    if (chat_) {
        choice["message"] = {{"role", "assistant"}, {"content", text}};
    } else {
        choice["text"] = text;
    }
    choice["logprobs"] = nullptr;
    choice["finish_reason"] = reason;
    answer["choices"] = ApiJson::array({std::move(choice)});
    answer["usage"] = usage_object(usage);
    return dumped(answer);
}

std::string CompletionAnswers::begin() const {
    if (!chat_) {
        return {};
    }
    return event(chunk_object(chat_,
                              answer_object(id_, chunk_name(chat_), created_s_, model_),
                              {{"role", "assistant"}, {"content", ""}},
                              {},
                              {}));
}

std::string CompletionAnswers::piece(const std::string& text) const {
    return event(chunk_object(chat_,
                              answer_object(id_, chunk_name(chat_), created_s_, model_),
                              {{"content", text}},
                              text,
                              {}));
}

std::string CompletionAnswers::end(std::string_view reason) const {
    return event(chunk_object(chat_,
                              answer_object(id_, chunk_name(chat_), created_s_, model_),
                              ApiJson::object(),
                              {},
                              reason));
}

std::string CompletionAnswers::usage(const Usage& usage) const {
    ApiJson answer = answer_object(id_, chunk_name(chat_), created_s_, model_);
    answer["choices"] = ApiJson::array();
    answer["usage"] = usage_object(usage);
    return event(answer);
}

std::string CompletionAnswers::done() {
    return "data: [DONE]\n\n";
}

std::string CompletionAnswers::error(const ApiError& error) {
    return event(error_object(error));
}

std::string models_json(const ServedName& served, std::int64_t created_s) {
    ApiJson all = ApiJson::array();
    for (std::int32_t adapter = -1; adapter < served.adapters; ++adapter) {
        all.push_back({{"id", served.name_of(adapter)},
                       {"object", "model"},
                       {"created", created_s},
                       {"owned_by", "orrery"}});
    }
    return dumped({{"object", "list"}, {"data", std::move(all)}});
}

}  // namespace orrery
