// SPDX-License-Identifier: ISC

// A Go x/crypto client with the arguments of all peers here:
// PORT USER key:FILE|password:WORD HOSTKEY PTY REKEY-BYTES COMMAND
package main

import (
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"strconv"
	"strings"

	"golang.org/x/crypto/ssh"
)

func main() {
	log.SetFlags(0)
	a := os.Args[1:]
	port, user, login, hostkey, pty, rekey, command := a[0], a[1], a[2], a[3], a[4], a[5], a[6]
	host, _, _, _, err := ssh.ParseAuthorizedKey([]byte(hostkey))
	if err != nil {
		log.Fatal(err)
	}
	how, what, _ := strings.Cut(login, ":")
	var auth ssh.AuthMethod
	if how == "key" {
		pem, err := os.ReadFile(what)
		if err != nil {
			log.Fatal(err)
		}
		signer, err := ssh.ParsePrivateKey(pem)
		if err != nil {
			log.Fatal(err)
		}
		auth = ssh.PublicKeys(signer)
	} else {
		auth = ssh.Password(what)
	}
	config := &ssh.ClientConfig{User: user, Auth: []ssh.AuthMethod{auth}, HostKeyCallback: ssh.FixedHostKey(host),
		HostKeyAlgorithms: []string{host.Type()}}
	config.RekeyThreshold, _ = strconv.ParseUint(rekey, 10, 64)
	client, err := ssh.Dial("tcp", "127.0.0.1:"+port, config)
	if err != nil {
		log.Fatal(err)
	}
	session, err := client.NewSession()
	if err != nil {
		log.Fatal(err)
	}
	if pty == "1" {
		if err := session.RequestPty("xterm", 24, 80, ssh.TerminalModes{}); err != nil {
			log.Fatal(err)
		}
	}
	in, _ := session.StdinPipe()
	session.Stdout, session.Stderr = os.Stdout, os.Stderr
	if err := session.Start(command); err != nil {
		log.Fatal(err)
	}
	go func() {
		io.Copy(in, os.Stdin)
		in.Close()
	}()
	err = session.Wait()
	var exit *ssh.ExitError
	switch {
	case err == nil:
		fmt.Fprintf(os.Stderr, "\npeer: status 0\n")
	case errors.As(err, &exit) && exit.Signal() != "":
		fmt.Fprintf(os.Stderr, "\npeer: signal %s\n", exit.Signal())
	case errors.As(err, &exit):
		fmt.Fprintf(os.Stderr, "\npeer: status %d\n", exit.ExitStatus())
	default:
		log.Fatal(err)
	}
}
