package fixers

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// AuditFile is the name of the file in a record's folder that has one JSON line
// for each decision of every run.
const AuditFile = "audit.jsonl"

// Record keeps what is about to be deleted, before it is, and every decision.
// Its methods may be called concurrently.
type Record struct {
	// Dir is the folder of the files; it is made when missing.
	Dir string
	// Who runs the fixer, and Cluster is where, as the audit tells it.
	Who, Cluster string

	mu     sync.Mutex
	backup string // path of this run's backup, once there is one
}

// Decision is one line of the audit file.
type Decision struct {
	Time    time.Time `json:"time"`
	Who     string    `json:"who"`
	Cluster string    `json:"cluster"`
	// Object is the kind and name, as in Result.
	Object    string `json:"object"`
	Namespace string `json:"namespace"`
	UID       string `json:"uid"`
	// ResourceVersion is that of the state that was judged.
	ResourceVersion string   `json:"resourceVersion"`
	Evidence        []string `json:"evidence"`
	// Decision is "delete" or "keep".
	Decision string `json:"decision"`
	// Result is "planned" before a deletion, and afterwards its Action.
	Result string `json:"result"`
	Error  string `json:"error,omitempty"`
}

// Backup writes the manifests to a file that `kubectl create -f` restores, and
// returns its path once they are on disk. All backups of one Record go into one
// file, which is never one of another run.
func (r *Record) Backup(manifests []runtime.Object) (path string, err error) {
	var text strings.Builder
	for _, m := range manifests {
		manifest, err := yaml.Marshal(m)
		if err != nil {
			return "", fmt.Errorf("write a backup: %w", err)
		}
		text.WriteString("---\n")
		text.Write(manifest)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	file, err := r.openBackup()
	if err != nil {
		return "", fmt.Errorf("open the backup: %w", err)
	}
	if err := writeSynced(file, text.String()); err != nil {
		return "", err
	}
	return r.backup, nil
}

// openBackup opens the run's backup to append to it, and makes it at first.
func (r *Record) openBackup() (*os.File, error) {
	if r.backup != "" {
		return os.OpenFile(r.backup, os.O_APPEND|os.O_WRONLY, 0o600)
	}
	dir, err := r.dir()
	if err != nil {
		return nil, err
	}
	file, err := os.CreateTemp(dir, "restore-"+time.Now().UTC().Format("20060102T150405Z")+"-*.yaml")
	if err != nil {
		return nil, err
	}
	r.backup = file.Name()
	_, err = fmt.Fprintf(file, "# What mesh-postflight set out to delete; "+AuditFile+" beside this tells what it did.\n#   cluster: %s\n#   by:      %s\n# Restore with: kubectl create -f %s\n", oneLine(r.Cluster), oneLine(r.Who), oneLine(r.backup))
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// Audit appends a line for each decision, and returns once they are on disk.
// It fills in Time, Who and Cluster.
func (r *Record) Audit(decisions ...Decision) (path string, err error) {
	var lines []byte
	for _, d := range decisions {
		d.Time, d.Who, d.Cluster = time.Now().UTC(), r.Who, r.Cluster
		line, err := json.Marshal(d)
		if err != nil {
			return "", fmt.Errorf("write the audit of %s: %w", d.Object, err)
		}
		lines = append(append(lines, line...), '\n')
	}
	dir, err := r.dir()
	if err != nil {
		return "", fmt.Errorf("open the audit file: %w", err)
	}
	path = filepath.Join(dir, AuditFile)
	r.mu.Lock()
	defer r.mu.Unlock()
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return "", fmt.Errorf("open the audit file: %w", err)
	}
	// One write, so that lines of two runs at once do not mix.
	if err := writeSynced(file, string(lines)); err != nil {
		return "", err
	}
	return path, nil
}

// dir makes the record's folder and returns its absolute path.
func (r *Record) dir() (string, error) {
	if err := os.MkdirAll(r.Dir, 0o755); err != nil {
		return "", err
	}
	return filepath.Abs(r.Dir)
}

// writeSynced writes text to the end of file, and closes it once it is on disk.
// What a full disk has cut off is taken back, so that the next record can be
// read.
func writeSynced(file *os.File, text string) error {
	n, err := file.WriteString(text)
	if err == nil {
		err = file.Sync()
	} else if info, statErr := file.Stat(); n > 0 && statErr == nil {
		err = errors.Join(err, file.Truncate(info.Size()-int64(n)))
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("write %s: %w", file.Name(), err)
	}
	return nil
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
