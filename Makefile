# Everything that a person or a pipeline runs here. `make help` lists it.
SHELL := /bin/sh
.DEFAULT_GOAL := help

# Built fixtures and the compiled suite; ignored by git.
BUILT := .built
# How many embedded clusters rehearse at the same time (about 300 MiB each).
PROCS ?= 4
# For example RACE=-race, where a C compiler is at hand.
RACE ?=
# The compiler's flags of fixtures/clusters/build.go, for what the demo compiles:
# packages that both need are then compiled once.
QUICK := CGO_ENABLED=0 GOFLAGS="$(shell go env GOFLAGS) '-gcflags=all=-N -l -dwarf=false'"
GINKGO := go tool ginkgo run --no-color --randomize-all --fail-on-pending --fail-on-empty --keep-going --poll-progress-after=2m

# The two suites are run by Ginkgo, not by a bare go test.
# A folder for JUnit and JSON reports of the rehearsals, and for the logs of
# clusters on which one failed.
REPORTS ?=
REPORTING = $(if $(REPORTS),--output-dir=$(REPORTS) --junit-report=junit-$@$(1).xml --json-report=$@$(1).json)
LOGS = $(if $(REPORTS),--logs=$(abspath $(REPORTS))/logs-$@$(1))

UNITS = $$(go list ./... | grep -v -e /suites/postupgrade$$ -e /suites/rehearsal$$)

.PHONY: help demo test check unit rehearse rehearse-kind rehearse-istio suite controlplane istio stage outline bench docs clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

##  The two commands of the README

demo: suite ## Show the main job on a throwaway cluster: find, fix, pass (about 6 minutes the first time)
	@$(QUICK) go run ./fixtures/stage --scenario retired-leases -- sh fixtures/stage/demo.sh $(BUILT)/postupgrade.test

test: check unit rehearse ## Everything that must hold: checks, unit tests, rehearsals on the embedded cluster

##  Parts of them

check: ## gofmt, vet, staticcheck, actionlint
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')); test -z "$$unformatted" || { echo "not gofmt-ed:"; echo "$$unformatted"; exit 1; }
	go vet ./...
	go tool staticcheck ./...
	go tool actionlint

unit: controlplane ## Unit tests
	go test $(RACE) $(UNITS)

rehearse: controlplane ## Rehearsals on embedded clusters
	$(GINKGO) $(REPORTING) --procs=$(PROCS) --label-filter '!istio' ./suites/rehearsal -- $(LOGS)

rehearse-kind: ## Rehearsals on a kind cluster, which needs a container engine (KIND_NODE_IMAGE: another node image)
	$(GINKGO) $(REPORTING) --label-filter table ./suites/rehearsal -- --cluster kind $(LOGS)

rehearse-istio: istio ## Rehearsals with real istiods on embedded clusters, and on kind where there is a container engine
	$(GINKGO) $(REPORTING) --procs=$(PROCS) --label-filter istio ./suites/rehearsal -- $(LOGS)
	@if docker info >/dev/null 2>&1; then set -x; $(GINKGO) $(call REPORTING,-on-kind) --label-filter istio ./suites/rehearsal -- --cluster kind $(call LOGS,-on-kind); \
	else echo "no container engine: real istiods were rehearsed on embedded clusters only"; fi

suite: ## Compile the post-upgrade suite into .built/postupgrade.test
	@echo "compiling the post-upgrade suite" >&2
	@$(QUICK) go test -vet=off -c -o $(BUILT)/postupgrade.test ./suites/postupgrade

# What takes minutes the first time is built here, where its progress shows.
controlplane:
	@$(QUICK) go run ./fixtures/stage --scenario settled -- true

istio: controlplane
	POSTFLIGHT_BUILD_ISTIO=1 go test -v -timeout 30m ./fixtures/istio

##  By hand

stage: ## Keep a stage up until Ctrl-C, and print the variables that lead to it
	@go run ./fixtures/stage --scenario retired-leases

outline: ## Print the specs of the post-upgrade suite
	@for f in suites/postupgrade/*_test.go; do go tool ginkgo outline --format indent $$f 2>/dev/null; done | cut -d, -f1,2 | grep -v -e ^Name -e ^By

bench: ## Rates of deleting and verifying, beside the plain ways
	go test -run '^$$' -bench Delete -benchtime 1x -timeout 30m ./suites/benchmark
	go test -run '^$$' -bench Verify -benchtime 20x -timeout 30m ./suites/benchmark

docs: ## Write docs/rehearsals.md anew from the table of rehearsals
	$(GINKGO) --focus 'docs/rehearsals.md' ./suites/rehearsal -- --update-docs

clean: ## Remove everything that was built
	rm -rf $(BUILT)
