// SPDX-License-Identifier: ISC
// A client of github.com/pkg/sftp: PORT USER KEY LOCAL REMOTE-DIRECTORY.  It has many requests under way, in any order.
package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/pkg/sftp"
	"golang.org/x/crypto/ssh"
)

func good(err error) {
	if err != nil {
		panic(err)
	}
}

func must(ok bool, what string) {
	if !ok {
		panic(what)
	}
}

func main() {
	text, err := os.ReadFile(os.Args[3])
	good(err)
	key, err := ssh.ParsePrivateKey(text)
	good(err)
	conn, err := ssh.Dial("tcp", "127.0.0.1:"+os.Args[1], &ssh.ClientConfig{User: os.Args[2],
		Auth: []ssh.AuthMethod{ssh.PublicKeys(key)}, HostKeyCallback: ssh.InsecureIgnoreHostKey()})
	good(err)
	c, err := sftp.NewClient(conn, sftp.UseConcurrentWrites(true), sftp.UseConcurrentReads(true),
		sftp.MaxConcurrentRequestsPerFile(64))
	good(err)
	dir := os.Args[5]
	large, err := os.ReadFile(os.Args[4])
	good(err)

	var all sync.WaitGroup
	for i := 0; i < 4; i++ {
		all.Add(1)
		go func(i int) {
			defer all.Done()
			path := fmt.Sprintf("%s/large%d", dir, i)
			f, err := c.Create(path)
			good(err)
			n, err := f.ReadFrom(bytes.NewReader(large))
			good(err)
			must(n == int64(len(large)), "short write")
			good(f.Close())
			f, err = c.Open(path)
			good(err)
			var back bytes.Buffer
			_, err = f.WriteTo(&back)
			good(err)
			must(bytes.Equal(back.Bytes(), large), "other bytes came back")
			part := make([]byte, 1000)
			_, err = f.ReadAt(part, 4321)
			good(err)
			must(bytes.Equal(part, large[4321:5321]), "other part came back")
			_, err = f.ReadAt(part, int64(len(large)-10))
			must(err == io.EOF, "no end")
			good(f.Close())
		}(i)
	}
	all.Wait()
	good(c.MkdirAll(dir + "/a/b/c"))
	good(c.PosixRename(dir+"/large0", dir+"/large1"))
	good(c.Rename(dir+"/large1", dir+"/a/b/c/moved"))
	must(c.Rename(dir+"/large2", dir+"/large3") != nil, "a rename replaced a file")
	good(c.Symlink("moved", dir+"/a/b/c/soft"))
	good(c.Link(dir+"/large2", dir+"/hard"))
	good(c.Chmod(dir+"/large3", 0o600))
	when := time.Unix(1234567890, 0)
	good(c.Chtimes(dir+"/large3", when, when))
	st, err := c.Stat(dir + "/large3")
	good(err)
	must(st.ModTime().Equal(when) && st.Mode().Perm() == 0o600, "other attributes")
	good(c.Truncate(dir+"/large3", 10))
	seen := 0
	for w := c.Walk(dir); w.Step(); seen++ {
		good(w.Err())
	}
	must(seen == 9, fmt.Sprintf("%d names", seen))
	_, err = c.Stat(dir + "/none")
	must(os.IsNotExist(err), "a file that is not there")
	vfs, err := c.StatVFS(dir)
	good(err)
	must(vfs.Namemax == 255, "name length")
	good(c.Remove(dir + "/hard"))
	good(c.Close())
}
