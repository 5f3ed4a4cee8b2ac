package aks

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
)

// answerError is what ARM answered, in one line. The SDK's own text of it is a
// page with the whole body.
type answerError struct {
	text  string
	cause *azcore.ResponseError
}

func (e *answerError) Error() string { return e.text }
func (e *answerError) Unwrap() error { return e.cause }

// brief returns err with ARM's answer cut to its status, code, message and
// Retry-After. Any other error comes back as it is.
func brief(err error) error {
	var answer *azcore.ResponseError
	if !errors.As(err, &answer) {
		return err
	}
	text := fmt.Sprintf("ARM answered %d", answer.StatusCode)
	if answer.ErrorCode != "" {
		text += " " + answer.ErrorCode
	}
	if m := message(answer); m != "" {
		text += ": " + m
	}
	if answer.RawResponse != nil {
		if after := answer.RawResponse.Header.Get("Retry-After"); after != "" {
			text += " (Retry-After: " + after + ")"
		}
	}
	return &answerError{text: text, cause: answer}
}

// message finds the message in an error body: under "error", as ARM itself
// sends it, or at the top, as AKS's resource provider does.
func message(answer *azcore.ResponseError) string {
	if answer.RawResponse == nil {
		return ""
	}
	body, err := runtime.Payload(answer.RawResponse)
	if err != nil {
		return ""
	}
	var parsed struct {
		Message string `json:"message"`
		Error   struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	if json.Unmarshal(body, &parsed) != nil {
		return ""
	}
	if parsed.Error.Message != "" {
		return parsed.Error.Message
	}
	return parsed.Message
}
