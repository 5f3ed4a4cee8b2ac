package aks

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"

	"github.com/mesh-postflight/mesh-postflight/mesh"
)

// briefError is an error in one line. The SDK's own text of it is a page, with
// the whole of ARM's answer or a paragraph for each credential.
type briefError struct {
	text  string
	cause error
}

func (e *briefError) Error() string { return e.text }
func (e *briefError) Unwrap() error { return e.cause }

// brief returns err in one line, and ARM's answer cut to its status, code,
// message and Retry-After.
func brief(err error) error {
	text := err.Error()
	var answer *azcore.ResponseError
	if errors.As(err, &answer) {
		text = summary(answer)
		if answer.RawResponse != nil && answer.RawResponse.Request != nil {
			// Whoever prints the error in all its parts must find no token.
			answer.RawResponse.Request.Header.Del("Authorization")
		}
	}
	return &briefError{text: mesh.Printable(strings.Join(strings.Fields(text), " ")), cause: err}
}

func summary(answer *azcore.ResponseError) string {
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
	return text
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
