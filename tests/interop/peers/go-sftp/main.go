// SPDX-License-Identifier: ISC
// Go's pkg/sftp serving files at stdin and stdout.
package main

import (
	"fmt"
	"io"
	"os"

	"github.com/pkg/sftp"
)

type ends struct {
	io.Reader
	io.WriteCloser
}

func main() {
	server, err := sftp.NewServer(ends{os.Stdin, os.Stdout})
	if err == nil {
		err = server.Serve()
	}
	if err != nil && err != io.EOF {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
